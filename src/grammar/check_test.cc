#include "grammar/check.h"

#include <fmt/format.h>
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

TEST(Check, IntegersAreExactHoweverLong) {
  for (const char* number : {"9007199254740993", "-9223372036854775808", "18446744073709551615",
                             "18446744073709551617", "123456789012345678901234567890"}) {
    const std::string text = number;
    std::string next = text;  // another integer, near by
    next.back() = next.back() == '8' ? '9' : '8';
    EXPECT_TRUE(accepted("{\"const\":" + text + "}", text));
    EXPECT_FALSE(accepted("{\"const\":" + text + "}", next));
    EXPECT_TRUE(accepted("{\"enum\":[1," + text + "]}", text));
    EXPECT_FALSE(accepted("{\"enum\":[1," + text + "]}", next));
    EXPECT_TRUE(accepted(R"({"type":"integer"})", text));
    EXPECT_TRUE(accepted(R"({"type":"number"})", text));
    EXPECT_TRUE(accepted(R"({"uniqueItems":true})", fmt::format("[{},{}]", text, next)));
    EXPECT_FALSE(accepted(R"({"uniqueItems":true})", fmt::format("[{0},{0}]", text)));
    EXPECT_FALSE(accepted(R"({"type":"string"})", text));
  }
  EXPECT_FALSE(accepted(R"({"multipleOf":7})", "123456789012345678901234567891"));
  EXPECT_TRUE(accepted(R"({"multipleOf":7})", "864197523086419752308641975230"));
  EXPECT_TRUE(accepted(R"({"minimum":9007199254740993})", "9007199254740993"));
  EXPECT_FALSE(accepted(R"({"minimum":9007199254740993})", "9007199254740992"));
  EXPECT_TRUE(
      accepted(R"({"type":"integer","maximum":18446744073709551615})", "18446744073709551615"));
  EXPECT_FALSE(
      accepted(R"({"type":"integer","maximum":18446744073709551615})", "18446744073709551616"));
  EXPECT_TRUE(accepted(R"({"type":"integer","maximum":100000000000000000000000})",
                       "99999999999999999999999"));
  EXPECT_TRUE(accepted(R"({"type":"integer","multipleOf":1e-8})", "12391239123"));
  EXPECT_TRUE(accepted(R"({"const":9007199254740992})", "9007199254740992.0"));
  EXPECT_TRUE(accepted(R"({"const":1e30})", "1000000000000000000000000000000"));
}

TEST(Check, EveryNumberThatProgramsPrintMayBeWritten) {
  for (const char* number : {"1e308", "1.7976931348623157e+308", "5e-300", "0.1234567890123456789",
                             "1.234567890123456e-05", "0.000001234567890123456"})
    EXPECT_TRUE(accepted(R"({"type":"number"})", number)) << number;
}

// The rules alone must bring a text to its end in time: what only a check at the end knows of would
// let a model write on for ever.
TEST(Check, LengthsHoldBesidePatterns) {
  const auto both = [](const char* pattern, int min, int max) {
    return fmt::format(R"({{"type":"string","pattern":"{}","minLength":{},"maxLength":{}}})",
                       pattern, min, max);
  };
  EXPECT_TRUE(accepted(both("^[a-z]+$", 0, 3), "\"abc\""));
  EXPECT_FALSE(accepted(both("^[a-z]+$", 0, 3), "\"abcd\""));
  EXPECT_FALSE(accepted(both("^[a-z]+$", 2, 3), "\"a\""));
  EXPECT_TRUE(accepted(both("^[A-Z][a-z]*-[0-9]{2}$", 6, 8), "\"Ab-12\"") == false);
  EXPECT_TRUE(accepted(both("^[A-Z][a-z]*-[0-9]{2}$", 6, 8), "\"Abcd-12\""));
  EXPECT_TRUE(accepted(both("^(ab|c)+$", 1, 4), "\"abab\""));
  EXPECT_FALSE(accepted(both("^(ab|c)+$", 1, 4), "\"ababc\""));
  EXPECT_TRUE(accepted(both("b", 2, 4), "\"abcd\""));
  EXPECT_FALSE(accepted(both("b", 2, 4), "\"abcde\""));
  EXPECT_FALSE(accepted(both("^[a-z]{5}$", 0, 4), "\"abcde\""));
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
