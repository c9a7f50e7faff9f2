#include <gtest/gtest.h>

#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

struct PartialCase {
  std::string_view text, value;
  size_t n_open;
};

TEST(PartialJson, WhatIsFinishedIsThereAndTheRestIsOpen) {
  const PartialCase cases[] = {
      {R"({"a": [1, {"b": "x", "c)", R"({"a":[1,{"b":"x"}]})", 3},
      {R"({"a": tru)", R"({})", 1},
      {R"([1, 23)", "[1]", 1},
      {R"([true)", "[true]", 1},
      {R"([1, 23 )", "[1,23]", 1},
      {R"(["a\"b", "c\)", R"(["a\"b"])", 1},
      {R"({"a": 1} )", R"({"a":1})", 0},
      {"{\"k\":\"\\ud83d\\ude00\",", "{\"k\":\"\xF0\x9F\x98\x80\"}", 1},
  };
  for (const PartialCase& c : cases) {
    const auto partial = parse_partial(c.text, false);
    ASSERT_TRUE(partial) << c.text;
    EXPECT_TRUE(partial->has_value);
    EXPECT_EQ(partial->value, Json::parse(c.value)) << c.text;
    EXPECT_EQ(partial->n_open, c.n_open) << c.text;
  }
}

TEST(PartialJson, ANumberIsFinishedAtTheEndOnly) {
  EXPECT_FALSE(parse_partial("12", false)->has_value);
  EXPECT_EQ(parse_partial("12", true)->value, 12);
  EXPECT_FALSE(parse_partial("", true)->has_value);
  EXPECT_FALSE(parse_partial("\"a", true)->has_value);
}

TEST(PartialJson, RepeatedKeysAndHalfCharactersAreFound) {
  EXPECT_TRUE(parse_partial(R"({"a":1,"a")", false)->repeated_key);
  EXPECT_FALSE(parse_partial(R"({"a":{"a":1},)", false)->repeated_key);
  EXPECT_FALSE(parse_partial(R"(["\ud83d",)", false));
  EXPECT_FALSE(parse_partial("]", false));
}

// Every prefix of a text is a beginning, and nothing that is there changes later.
TEST(PartialJson, EveryPrefixIsRead) {
  constexpr std::string_view kText = R"({"a":[1,2.5e3,{"b":null}],"c":"\n\u0041","d":[[],{}]})";
  for (size_t n = 0; n <= kText.size(); ++n)
    ASSERT_TRUE(parse_partial(kText.substr(0, n), false)) << n;
}

}  // namespace
}  // namespace tempo9::grammar
