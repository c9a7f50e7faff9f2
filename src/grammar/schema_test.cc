#include "grammar/schema.h"

#include <gtest/gtest.h>

namespace tempo9::grammar {
namespace {

TEST(Schema, KeywordsThatAreNoneAreRefusedWithPathAndName) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"properties": {"a": {"type": "strnig"}}})", "#/properties/a: type: found \"strnig\""},
      {R"({"type": []})", "#: type: "},
      {R"({"items": {"minLength": -1}})", "#/items: minLength: found -1"},
      {R"({"allOf": []})", "#: allOf: "},
      {R"({"anyOf": [true, 3]})", "#/anyOf/1: found 3"},
      {R"x({"pattern": "(?=a)"})x", "#: pattern: \"(?=a)\": look-around"},
      {R"({"pattern": "("})", "#: pattern: "},
      {R"({"patternProperties": {"[": true}})", "#: patternProperties: "},
      {R"({"required": true})", "#: required: "},
      {R"({"multipleOf": 0})", "#: multipleOf: "},
      {R"({"enum": 1})", "#: enum: "},
      {R"({"$dynamicRef": "#x"})", "#: $dynamicRef: "},
      {R"({"$ref": "#/$defs/missing"})", "#: $ref: found \"#/$defs/missing\""},
      {R"({"$ref": "http://example.com/other"})", "#: $ref: "},
      {R"({"properties": {"a/b": {"$ref": "#/no"}}})", "#/properties/a~1b: $ref: "},
      {R"([])", "#: found [], expected a schema"},
      {R"({"type":)", "#: found no JSON"},
      {R"({"dependentRequired": {"a": [1]}})", "#: dependentRequired: "},
  };
  for (const auto& [text, message] : cases) {
    const auto schema = Schema::parse(text);
    ASSERT_FALSE(schema) << text;
    EXPECT_EQ(schema.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(schema.error().message.starts_with(message)) << schema.error().message;
  }
}

TEST(Schema, ReferencesFindTheirTargets) {
  // JSON pointers into anything, also with escapes; anchors; identifiers.
  const auto schema = Schema::parse(R"({
    "$id": "http://x.org/root.json",
    "properties": {"a": {"items": [{"type": "null"}]}},
    "$defs": {"x/y": {"$anchor": "here", "type": "string"},
              "z%": {"$id": "folder/inner.json", "$defs": {"deep": {"type": "boolean"}},
                     "$ref": "#/$defs/deep"}},
    "allOf": [{"$ref": "#/properties/a/items/0"}, {"$ref": "#/$defs/x~1y"}, {"$ref": "#here"},
              {"$ref": "#/$defs/z%25"}, {"$ref": "folder/inner.json#/$defs/deep"},
              {"$ref": "http://x.org/root.json"}]})");
  ASSERT_TRUE(schema) << schema.error().message;
  const Json& all = schema->root()["allOf"];
  EXPECT_EQ(schema->target(all[0]["$ref"])["type"], "null");
  EXPECT_EQ(schema->target(all[1]["$ref"])["type"], "string");
  EXPECT_EQ(schema->target(all[2]["$ref"])["type"], "string");
  EXPECT_EQ(schema->target(all[4]["$ref"])["type"], "boolean");
  EXPECT_EQ(&schema->target(all[5]["$ref"]), &schema->root());
  EXPECT_EQ(schema->target(schema->root()["$defs"]["z%"]["$ref"])["type"], "boolean");
}

TEST(Schema, LenientTakesOutWhatItCannotHoldAndSaysSo) {
  const auto schema = Schema::parse(
      R"x({"properties": {"a": {"type": "dict", "minLength": 2}, "b": {"$ref": "#/no"},
          "c": {"pattern": "(?!x)", "type": "string"}}, "required": ["a"]})x",
      {.lenient = true});
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->root(), Json::parse(R"({"properties": {"a": {"minLength": 2}, "b": {},
                            "c": {"type": "string"}}, "required": ["a"]})"));
  ASSERT_EQ(schema->warnings().size(), 3u);
  EXPECT_TRUE(schema->warnings()[0].starts_with("#/properties/a: type: "));
}

TEST(Schema, LenientTakesOutOneBadPartAndKeepsTheOthers) {
  struct Case {
    std::string_view text, kept;
    size_t n_warnings;
  };
  const Case cases[] = {
      {R"({"properties":{"a":{"$ref":"#/$defs/x"},"b":null,"c":{"type":"null"}},"$defs":{"x":{}}})",
       R"({"properties":{"a":{"$ref":"#/$defs/x"},"b":true,"c":{"type":"null"}},"$defs":{"x":{}}})",
       1},
      {R"x({"patternProperties":{"^a":{"$ref":"#/$defs/x"},"(?=b)":{}},"$defs":{"x":{}}})x",
       R"({"patternProperties":{"^a":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}})", 1},
      {R"({"prefixItems":[1,{"$ref":"#/$defs/x"}],"$defs":{"x":{}}})",
       R"({"prefixItems":[true,{"$ref":"#/$defs/x"}],"$defs":{"x":{}}})", 1},
      {R"({"dependencies":{"a":["b"],"c":3}})", R"({"dependencies":{"a":["b"],"c":true}})", 1},
      // The part that has the reference goes.
      {R"({"oneOf":[{"$ref":"#/$defs/x"},3],"$defs":{"x":{}}})", R"({"$defs":{"x":{}}})", 1},
      // The target goes after it was found, with what a later reference leads to.
      {R"({"items":{"$ref":"#/y/oneOf/0"},"contains":{"$ref":"#/y"},"y":{"oneOf":[{},3]}})",
       R"({"items":{},"contains":{"$ref":"#/y"},"y":{}})", 2},
  };
  for (const Case& c : cases) {
    const auto schema = Schema::parse(c.text, {.lenient = true});
    ASSERT_TRUE(schema) << schema.error().message;
    EXPECT_EQ(schema->root(), Json::parse(c.kept)) << schema->root();
    EXPECT_EQ(schema->warnings().size(), c.n_warnings) << c.text;
    EXPECT_FALSE(Schema::parse(c.text)) << c.text;
  }
}

TEST(Schema, LenientTakesOutTheKeywordWhenManyOfItsPartsAreBad) {
  std::string list = "true";
  for (int i = 0; i < 1000; ++i) list += ",0";
  const auto schema = Schema::parse(fmt::format(R"({{"allOf":[{}]}})", list), {.lenient = true});
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->root(), Json::object());
  EXPECT_LT(schema->warnings().size(), 200u);
}

TEST(Schema, DepthAndSizeAreBounded) {
  std::string deep = "{}";
  for (int i = 0; i < 200; ++i) deep = "{\"items\":" + deep + "}";
  const auto schema = Schema::parse(deep);
  ASSERT_FALSE(schema);
  EXPECT_NE(schema.error().message.find("nested deeper than 128"), std::string::npos);
}

TEST(Schema, PatternsAreBoundedTogether) {
  std::string parts = "true";
  for (int i = 0; i < 200; ++i) parts += fmt::format(R"(,{{"pattern":"^{}a{{25000}}"}})", i);
  const auto schema = Schema::parse(fmt::format(R"({{"allOf":[{}]}})", parts));
  ASSERT_FALSE(schema);
  EXPECT_NE(schema.error().message.find("states together"), std::string::npos);
}

TEST(Schema, ValuesAreEqualAsJsonSchemaMeansIt) {
  const auto same = [](const char* a, const char* b) {
    return same_value(Json::parse(a), Json::parse(b));
  };
  EXPECT_TRUE(same("1", "1.0"));
  EXPECT_TRUE(same(R"({"a":1,"b":[2]})", R"({"b":[2.0],"a":1})"));
  EXPECT_FALSE(same("[1,2]", "[2,1]"));
  EXPECT_FALSE(same("1", "true"));
  EXPECT_FALSE(same("\"1\"", "1"));
}

}  // namespace
}  // namespace tempo9::grammar
