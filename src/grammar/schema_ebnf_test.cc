#include "grammar/schema_ebnf.h"

#include <gtest/gtest.h>

#include <chrono>

#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

class SchemaEbnfTest : public testing::Test {
 protected:
  Grammar compile(std::string_view text, const SchemaOptions& options = {}) {
    const auto schema = Schema::parse(text, options);
    EXPECT_TRUE(schema) << (schema ? "" : schema.error().message);
    const auto rules = schema_to_ebnf(*schema, options);
    EXPECT_TRUE(rules) << text << (rules ? "" : rules.error().message);
    auto grammar = compiler_->ebnf(fmt::format("root ::= value\n{}{}", *rules, common_rules()));
    EXPECT_TRUE(grammar) << *rules << (grammar ? "" : grammar.error().message);
    return *grammar;
  }
  void expect(std::string_view schema, std::initializer_list<std::string_view> good,
              std::initializer_list<std::string_view> bad, const SchemaOptions& options = {}) {
    SCOPED_TRACE(schema);
    const Grammar grammar = compile(schema, options);
    for (const auto text : good) EXPECT_TRUE(accepts(grammar, text)) << text;
    for (const auto text : bad) EXPECT_FALSE(accepts(grammar, text)) << text;
  }
  Result<Compiler> compiler_ = Compiler::make(byte_vocab());
};

TEST_F(SchemaEbnfTest, TypesAndTheirBounds) {
  expect("true", {"1", "\"a\"", "{\"a\": [null, true]}", "-1.5e3"}, {"", "nul", "01", "{a:1}"});
  expect(R"({"type":"integer","minimum":-3,"exclusiveMaximum":12})", {"-3", "0", "11"},
         {"-4", "12", "1.5", "\"1\""});
  expect(R"({"type":"number","minimum":0,"maximum":100})", {"0", "99.5", "100"}, {"-1", "101"});
  expect(R"({"type":["string","null"],"minLength":2,"maxLength":3})",
         {"null", "\"ab\"", "\"a\\nb\""}, {"\"a\"", "\"abcd\"", "1"});
  expect(R"({"type":"string","pattern":"^\\d{4}-\\w+$"})", {"\"2024-ab\""},
         {"\"24-ab\"", "\"2024-\""});
  expect(R"({"enum":["a",1,{"k":[true]}]})", {"\"a\"", "1", "{\"k\": [ true ]}"}, {"\"b\"", "2"});
  expect(R"({"type":"string","enum":["a",1]})", {"\"a\""}, {"1"});
  expect(R"({"type":"string","format":"date"})", {"\"2024-02-29\""}, {"\"2024-13-01\"", "\"x\""});
  expect(R"({"const":"\u20ac\"\\"})", {"\"\xE2\x82\xAC\\\"\\\\\""}, {"\"x\""});
}

TEST_F(SchemaEbnfTest, ObjectsHaveTheirKeysInOrder) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"},"c":{}},
          "required":["b"],"additionalProperties":false})";
  expect(kSchema,
         {R"({"b":true})", R"({"a": 1,"b": true})", "{\n  \"a\": 1,\n  \"b\": false\n}",
          R"({"b":true,"c":[1]})"},
         {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,"d":1})", R"({"b":1})",
          R"({"b":true,})", R"({,"b":true})"});
  expect(R"({"properties":{"a":{"type":"integer"}},"required":["z"],"type":"object"})",
         {R"({"z":1})", R"({"a":1,"z":"x","more":2})"}, {"{}", R"({"a":"x","z":1})"});
  expect(R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,
             "maxProperties":2,"propertyNames":{"pattern":"^x"}})",
         {R"({"x":1})", R"({"xa":1,"xb":2})"}, {"{}", R"({"y":1})", R"({"x":"1"})"});
  expect(R"({"type":"object","patternProperties":{"^n":{"type":"integer"}},
             "additionalProperties":false})",
         {"{}", R"({"n1":1,"n2":2})"}, {R"({"m":1})", R"({"n":"1"})"});
}

TEST_F(SchemaEbnfTest, ClosedObjectsTakeOnlyWhatTheyDeclare) {
  constexpr std::string_view kSchema = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
  expect(kSchema, {R"({"b":1})"}, {});
  expect(kSchema, {"{}", R"({"a":1})"}, {R"({"b":1})"}, {.closed_objects = true});
  expect(R"({"type":"object"})", {R"({"b":1})"}, {}, {.closed_objects = true});
  expect(R"({"properties":{"a":{}},"minProperties":2})", {R"({"a":1,"b":2})"}, {},
         {.closed_objects = true});
  expect(R"({"properties":{"a":{}},"propertyNames":{"maxLength":1}})", {R"({"b":2})"},
         {R"({"bb":1})"}, {.closed_objects = true});
}

TEST_F(SchemaEbnfTest, ArraysCountTheirItems) {
  expect(R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
         {"[1,2]", "[1, 2,3]"}, {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]"});
  expect(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
         {"[]", "[1]", "[1,\"a\"]"}, {"[\"a\"]", "[1,\"a\",2]"});
  expect(
      R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2})",
      {"[1,null]", "[1,null,null]"}, {"[1]", "[1,2]"});
  expect(R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"});
}

TEST_F(SchemaEbnfTest, SchemasCombine) {
  expect(R"({"anyOf":[{"type":"integer"},{"const":"x"}]})", {"1", "\"x\""}, {"\"y\"", "1.5"});
  expect(R"({"type":"object","properties":{"a":{"minimum":3}},"required":["a"],"allOf":[
             {"properties":{"a":{"type":"integer","maximum":5}}},{"$ref":"#/$defs/r"}],
             "$defs":{"r":{"required":["b"],"properties":{"b":{"type":"null"}}}},
             "unevaluatedProperties":false})",
         {R"({"a":3,"b":null})", R"({"a":5,"b":null})"},
         {R"({"a":2,"b":null})", R"({"a":4})", R"({"a":6,"b":null})", R"({"a":3,"b":null,"c":1})"});
  expect(R"({"type":"object","if":{"properties":{"k":{"const":"i"}},"required":["k"]},
             "then":{"properties":{"v":{"type":"integer"}}},
             "properties":{"k":{"type":"string"},"v":{}}})",
         {R"({"k":"i","v":1})", R"({"k":"s","v":"x"})"}, {R"({"k":"s","v":"x")"});
}

TEST_F(SchemaEbnfTest, SchemasMayContainThemselves) {
  expect(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["v"],
             "properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}},
             "additionalProperties":false}}})",
         {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"}, {R"({"v":1,"next":{}})"});
}

TEST_F(SchemaEbnfTest, ReferencesAreJsonPointers) {
  expect(R"({"type":"object","properties":{
             "a":{"type":"array","items":[{"type":"integer"},{"type":"null"}]},
             "b":{"$ref":"#/properties/a/items/0"},"c":{"$ref":"#/$defs/x~1y"},
             "d":{"$ref":"#/%24defs/p~0q"}},"additionalProperties":false,
             "$defs":{"x/y":{"const":1},"p~q":{"const":2}}})",
         {R"({"b":7,"c":1,"d":2})", R"({"a":[3,null]})"},
         {R"({"b":null})", R"({"c":2})", R"({"d":1})", R"({"a":[null]})"});
}

TEST_F(SchemaEbnfTest, WhatNothingKeepsIsAnError) {
  for (const std::string_view text :
       {"false", R"({"type":"integer","minimum":3,"maximum":2})", R"({"enum":[]})", R"({"not":{}})",
        R"({"allOf":[{"type":"string"},{"type":"null"}]})",
        R"({"type":"object","required":["a"],"properties":{"a":false}})"}) {
    const auto rules = schema_to_ebnf(*Schema::parse(text), {});
    ASSERT_FALSE(rules) << text;
    EXPECT_EQ(rules.error().code, ErrorCode::kNotFound);
  }
}

TEST_F(SchemaEbnfTest, NestedArraysCostInProportion) {
  std::string schema = R"({"type":"integer"})";
  for (int i = 0; i < 25; ++i) schema = fmt::format(R"({{"type":"array","items":{}}})", schema);
  const auto rules = schema_to_ebnf(*Schema::parse(schema), {});
  ASSERT_TRUE(rules);
  EXPECT_LT(rules->size(), 10'000u);
}

TEST_F(SchemaEbnfTest, ProductsOfAlternativesAreBounded) {
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += fmt::format(
        R"({}{{"anyOf":[{{"properties":{{"a{}":{{"type":"null"}}}}}},{{"minProperties":{}}}]}})",
        i == 0 ? "" : ",", i, i);
  }
  const auto rules = schema_to_ebnf(*Schema::parse(fmt::format(R"({{"allOf":[{}]}})", all)), {});
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SchemaEbnfTest, ManyBranchesTimesManyPartsAreBounded) {
  std::string all = "true", any = "true";
  for (int i = 0; i < 30'000; ++i) {
    all += fmt::format(R"(,{{"minProperties":{}}})", i);
    any += i % 2 == 0 ? ",false" : fmt::format(R"(,{{"minItems":{}}})", i);
  }
  const auto schema = Schema::parse(fmt::format(R"({{"allOf":[{}],"anyOf":[{}]}})", all, any));
  ASSERT_TRUE(schema);
  const auto rules = schema_to_ebnf(*schema, {});
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SchemaEbnfTest, ValuesAreHeldToReferencesThatMultiply) {
  std::string parts, values = "0";
  for (int i = 0; i < 20; ++i) {
    parts += fmt::format(R"("d{0}":{{"minimum":{0},"allOf":[{{"$ref":"#/$defs/d{1}"}},
                             {{"$ref":"#/$defs/d{1}"}}]}},)",
                         i, i + 1);
  }
  for (int i = 1; i < 1000; ++i) values += fmt::format(",{}", i);
  const auto schema = Schema::parse(fmt::format(R"({{"$ref":"#/$defs/d0","enum":[{}],"$defs":{{{}
                                 "d20":{{"minimum":500}}}}}})",
                                                values, parts));
  ASSERT_TRUE(schema) << schema.error().message;
  const auto rules = schema_to_ebnf(*schema, {});
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->find("\"499\""), std::string::npos);
  EXPECT_NE(rules->find("(\"500\" | \"501\""), std::string::npos);
}

TEST_F(SchemaEbnfTest, TheTimeThatValuesTakeIsBounded) {
  std::string values = "1";
  for (int i = 0; i < 1000; ++i) values += fmt::format(R"(,"{}")", std::string(3000, 'a'));
  const auto schema =
      Schema::parse(fmt::format(R"({{"enum":[{}],"pattern":"^(a?){{9000}}$"}})", values));
  ASSERT_TRUE(schema) << schema.error().message;
  const auto rules = schema_to_ebnf(*schema, {});
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SchemaEbnfTest, LiteralsAreEscaped) {
  EXPECT_EQ(ebnf_literal("a\"\\\n\x01"), R"("a\"\\\u000a\u0001")");
}

}  // namespace
}  // namespace tempo9::grammar
