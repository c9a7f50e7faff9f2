#include "grammar/validate.h"

#include <gtest/gtest.h>

namespace tempo9::grammar {
namespace {

Verdict of(std::string_view schema_text, std::string_view text) {
  const auto schema = Schema::parse(schema_text);
  EXPECT_TRUE(schema) << schema_text;
  const auto partial = parse_partial(text, false);
  EXPECT_TRUE(partial) << text;
  return validate(*schema, partial->value, partial->n_open);
}

// The specification's own cases are run by tests/schema_suite.py; these are about what is open.
TEST(Validate, WhatCanNoLongerBecomeRightIsFoundWhileItIsWritten) {
  struct Case {
    std::string_view schema, text;
    Verdict verdict;
  };
  const Case cases[] = {
      {R"({"uniqueItems": true})", "[1,2", Verdict::kOpen},
      {R"({"uniqueItems": true})", "[1,2,1.0,", Verdict::kNo},
      {R"({"uniqueItems": true})", R"([{"a":1,"b":2},{"b":2,"a":1},)", Verdict::kNo},
      {R"({"required": ["a"]})", R"({"b":1,)", Verdict::kOpen},
      {R"({"required": ["a"]})", R"({"b":1})", Verdict::kNo},
      {R"({"not": {"required": ["a"]}})", R"({"b":1,)", Verdict::kOpen},
      {R"({"not": {"required": ["a"]}})", R"({"a":1})", Verdict::kNo},
      {R"({"properties": {"a": {"type": "integer"}}})", R"({"a":"x",)", Verdict::kNo},
      {R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})", R"({"a":1,"b":2})",
       Verdict::kNo},
      {R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})", R"({"a":1,)", Verdict::kOpen},
      {R"({"anyOf": [{"type": "array"}, {"type": "null"}]})", R"({"a":)", Verdict::kNo},
      {R"({"contains": {"const": 1}})", "[2,", Verdict::kOpen},
      {R"({"contains": {"const": 1}})", "[2]", Verdict::kNo},
      {R"({"contains": true, "maxContains": 1})", "[2,3,", Verdict::kNo},
      {R"({"maxProperties": 1})", R"({"a":1,"b":)", Verdict::kOpen},
      {R"({"maxProperties": 1})", R"({"a":1,"b":2,)", Verdict::kNo},
      {R"({"if": {"required": ["a"]}, "then": {"required": ["b"]}})", R"({"a":1,)", Verdict::kOpen},
      {R"({"if": {"required": ["a"]}, "then": {"required": ["b"]}})", R"({"a":1})", Verdict::kNo},
      {R"({"items": {"items": {"maximum": 3}}})", "[[1],[2,4,", Verdict::kNo},
      {R"({"unevaluatedProperties": false, "properties": {"a": true}})", R"({"b":1})",
       Verdict::kNo},
      {R"({"dependentRequired": {"a": ["b"]}})", R"({"a":1})", Verdict::kNo},
      {R"({"propertyNames": {"maxLength": 1}})", R"({"ab":1,)", Verdict::kNo},
      {R"({"multipleOf": 0.0001})", "[0.0075]", Verdict::kYes},
      {R"({"items": {"multipleOf": 0.0001}})", "[0.00751]", Verdict::kNo},
      {R"({"exclusiveMinimum": true, "minimum": 1, "items": true})", "[1]", Verdict::kYes},
      {R"({"items": {"exclusiveMinimum": true, "minimum": 1}})", "[1]", Verdict::kNo},
      {R"({"items": [{"type": "null"}], "additionalItems": false})", "[null,1]", Verdict::kNo},
  };
  for (const Case& c : cases) EXPECT_EQ(of(c.schema, c.text), c.verdict) << c.schema << c.text;
}

TEST(Validate, RecursionWithoutEndEnds) {
  EXPECT_EQ(of(R"({"$ref": "#"})", "[1]"), Verdict::kNo);
  EXPECT_EQ(of(R"({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})", "[1]"), Verdict::kNo);
}

// Each part refers twice to the next.
std::string doubling(int n, std::string_view last) {
  std::string out = fmt::format(R"({{"$ref":"#/$defs/d0","$defs":{{"d{}":{})", n, last);
  for (int i = 0; i < n; ++i) {
    out += fmt::format(
        R"(,"d{0}":{{"allOf":[{{"$ref":"#/$defs/d{1}"}},{{"$ref":"#/$defs/d{1}"}}]}})", i, i + 1);
  }
  return out + "}}";
}

TEST(Validate, AReferenceIsFollowedOnceForAValue) {
  const auto schema = Schema::parse(doubling(40, R"({"items":{"maximum":3}})"));
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(validate(*schema, Json::parse("[1,3]")), Verdict::kYes);
  EXPECT_EQ(validate(*schema, Json::parse("[1,4]")), Verdict::kNo);
  // Keys are values too, each of its own.
  const auto names =
      Schema::parse(R"({"propertyNames":{"$ref":"#/$defs/n"},"$defs":{"n":{"maxLength":2}}})");
  EXPECT_EQ(validate(*names, Json::parse(R"({"a":1,"b":2,"cc":3})")), Verdict::kYes);
  EXPECT_EQ(validate(*names, Json::parse(R"({"a":1,"b":2,"ccc":3})")), Verdict::kNo);
}

TEST(Validate, WhatTakesTooManyStepsIsNotKept) {
  for (const char* text : {R"({"type":"array"})", R"({"not":{"items":{"type":"null"}}})"}) {
    const auto schema = Schema::parse(text);
    const Json value = Json::parse("[1,2,3,4]");
    int64_t steps = 1'000'000;
    EXPECT_EQ(validate(*schema, value, 0, &steps), Verdict::kYes);
    EXPECT_LT(steps, 1'000'000);
    EXPECT_GT(steps, 990'000);
    steps = 50;
    EXPECT_EQ(validate(*schema, value, 0, &steps), Verdict::kNo) << text;
    steps = 50;
    EXPECT_EQ(validate(*schema, value, 1, &steps), Verdict::kOpen) << text;
  }
}

TEST(Validate, UniqueItemsCostInProportion) {
  const auto schema = Schema::parse(R"({"uniqueItems":true})");
  Json value = Json::array();
  for (int i = 0; i < 100'000; ++i) value.push_back({{"a", i}, {"b", "x"}});
  int64_t steps = kUnhurriedSteps;
  EXPECT_EQ(validate(*schema, value, 0, &steps), Verdict::kYes);
  EXPECT_GT(steps, kUnhurriedSteps - 100'000 * 100);
  value.push_back({{"b", "x"}, {"a", 7.0}});
  EXPECT_EQ(validate(*schema, value), Verdict::kNo);
  for (const char* pair : {"[0,-0.0]", "[[1],[1.0]]", R"(["a","b","a"])", "[null,1,null]",
                           "[true,true]", "[{},{}]", "[9007199254740993,9007199254740993]"}) {
    EXPECT_EQ(validate(*schema, Json::parse(pair)), Verdict::kNo) << pair;
  }
  for (const char* pair :
       {"[0,false,null,\"\"]", "[[1,2],[2,1]]", "[[],{}]", "[9007199254740992,9007199254740993]"}) {
    EXPECT_EQ(validate(*schema, Json::parse(pair)), Verdict::kYes) << pair;
  }
}

TEST(Validate, CountsBeyondAllIntegersAreTheLargest) {
  EXPECT_EQ(of(R"({"items":{"maxLength":18446744073709551615}})", R"(["x"])"), Verdict::kYes);
  EXPECT_EQ(of(R"({"maxItems":18446744073709551615})", "[1]"), Verdict::kYes);
  EXPECT_EQ(of(R"({"minItems":18446744073709551615})", "[1]"), Verdict::kNo);
}

TEST(ReplyValidator, AReplyHoldsOthersUpOnlySoLong) {
  std::string branches = R"({"const":-1})";
  for (int i = 0; i < 5000; ++i) branches += fmt::format(R"(,{{"const":{}}})", -2 - i);
  const auto schema =
      Schema::parse(fmt::format(R"({{"items":{{"not":{{"anyOf":[{}]}}}}}})", branches));
  ASSERT_TRUE(schema);
  Json value = Json::array();
  for (int i = 0; i < 10'000; ++i) value.push_back(i);
  ReplyValidator one;  // a second or more, were it not stopped
  EXPECT_EQ(one.check(*schema, value, 1), Verdict::kOpen);
  EXPECT_EQ(one.check(*schema, value, 0), Verdict::kNo);
  EXPECT_EQ(one.check(*schema, Json::parse("[1,-7]"), 1), Verdict::kNo);
  EXPECT_EQ(one.check(*schema, Json::parse("[1,7]"), 0), Verdict::kYes);

  ReplyValidator spent({.check = 2'000'000, .open = 3'000'000, .whole = 2'000'000});
  EXPECT_EQ(spent.check(*schema, value, 1), Verdict::kOpen);
  EXPECT_EQ(spent.check(*schema, value, 1), Verdict::kOpen);
  EXPECT_EQ(spent.check(*schema, Json::parse("[1,-7]"), 1), Verdict::kOpen);  // unseen
  EXPECT_EQ(spent.check(*schema, Json::parse("[1,-7]"), 0), Verdict::kNo);
  EXPECT_EQ(spent.check(*schema, Json::parse("[1,7]"), 0), Verdict::kYes);
  EXPECT_EQ(spent.check(*schema, Json::parse("[1,7]"), 0), Verdict::kNo);  // all is spent
}

}  // namespace
}  // namespace tempo9::grammar
