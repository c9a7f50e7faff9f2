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

}  // namespace
}  // namespace tempo9::grammar
