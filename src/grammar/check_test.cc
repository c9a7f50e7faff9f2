#include "grammar/check.h"

#include <gtest/gtest.h>

namespace tempo9::grammar {
namespace {

bool accepted(std::string_view schema, std::string_view instance) {
  const auto result = check_instance(schema, instance);
  EXPECT_TRUE(result) << result.error().message;
  return result && result->accepted;
}

TEST(Check, KeysMayComeInAnyOrder) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"properties":{"x":true,"y":true}},
          "c":{"type":"null"}},"required":["a","c"]})";
  EXPECT_TRUE(accepted(kSchema, R"({"c":null,"other":1,"b":{"y":1,"x":2},"a":5.0})"));
  EXPECT_FALSE(accepted(kSchema, R"({"c":null,"b":{}})"));
  EXPECT_FALSE(accepted(kSchema, R"({"c":1,"a":5})"));
}

TEST(Check, WhatLettersCannotHoldIsHeldToo) {
  EXPECT_FALSE(accepted(R"({"uniqueItems":true})", "[1,1.0]"));
  EXPECT_TRUE(accepted(R"({"uniqueItems":true})", "[1,true]"));
  EXPECT_FALSE(accepted(R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", "3"));
  EXPECT_TRUE(accepted(R"({"oneOf":[{"type":"integer"},{"minimum":2}]})", "2.5"));
  EXPECT_FALSE(accepted(R"({"multipleOf":3})", "7"));
}

TEST(Check, RefusalsAndBrokenInstancesAreToldApart) {
  const auto refused = check_instance(R"({"items":{"type":"strnig"}})", "1");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("#/items: type: ")) << refused.error().message;
  EXPECT_FALSE(accepted("{}", "{"));
  EXPECT_FALSE(accepted("false", "1"));
}

}  // namespace
}  // namespace tempo9::grammar
