#include "chat/parsers/call.h"

#include <gtest/gtest.h>

#include <set>

namespace tempo9::chat {
namespace {

Json coerced(const char* value, const char* schema) {
  return coerce(Json::parse(value), Json::parse(schema));
}

std::string one(const char* value, const char* type_schema) {
  std::string schema = std::string(R"({"type":"object","properties":{"x":)") + type_schema + "}}";
  return coerced((std::string(R"({"x":)") + value + "}").c_str(), schema.c_str())["x"].dump();
}

TEST(Coerce, TheSchemaDecidesTheType) {
  EXPECT_EQ(one("\"5\"", R"({"type":"string"})"), "\"5\"");
  EXPECT_EQ(one("5", R"({"type":"string"})"), "\"5\"");
  EXPECT_EQ(one("true", R"({"type":"string"})"), "\"true\"");
  EXPECT_EQ(one("\"5\"", R"({"type":"integer"})"), "5");
  EXPECT_EQ(one("5.0", R"({"type":"integer"})"), "5");
  EXPECT_EQ(one("5.5", R"({"type":"integer"})"), "5.5");
  EXPECT_EQ(one("\"5.5\"", R"({"type":"integer"})"), "\"5.5\"");
  EXPECT_EQ(one("\"x\"", R"({"type":"integer"})"), "\"x\"");
  EXPECT_EQ(one("\"1.5\"", R"({"type":"number"})"), "1.5");
  EXPECT_EQ(one("\"true\"", R"({"type":"boolean"})"), "true");
  EXPECT_EQ(one("\"False\"", R"({"type":"boolean"})"), "false");
  EXPECT_EQ(one("\"yes\"", R"({"type":"boolean"})"), "\"yes\"");
  EXPECT_EQ(one("\"[1,2]\"", R"({"type":"array"})"), "[1,2]");
  EXPECT_EQ(one(R"("[{'a': True, 'b': None}]")", R"({"type":"array"})"),
            R"([{"a":true,"b":null}])");
  EXPECT_EQ(one(R"("{\"a\":1}")", R"({"type":"object"})"), R"({"a":1})");
  EXPECT_EQ(one(R"({"a":1})", R"({"type":"string"})"), R"("{\"a\":1}")");
  EXPECT_EQ(one("null", R"({"type":"string"})"), "null");
}

TEST(Coerce, SeveralTypes) {
  EXPECT_EQ(one("\"5\"", R"({"type":["string","integer"]})"), "\"5\"");
  EXPECT_EQ(one("\"5\"", R"({"type":["integer","null"]})"), "5");
  EXPECT_EQ(one("\"None\"", R"({"type":["integer","null"]})"), "null");
  EXPECT_EQ(one("\"5\"", R"({"anyOf":[{"type":"integer"},{"type":"null"}]})"), "5");
  EXPECT_EQ(one("\"5\"", R"({"anyOf":[{"type":"integer"},{"type":"string"}]})"), "\"5\"");
  EXPECT_EQ(one("\"5\"", R"({})"), "\"5\"");
}

TEST(Coerce, InsideAndByReference) {
  EXPECT_EQ(one(R"(["1","2"])", R"({"type":"array","items":{"type":"integer"}})"), "[1,2]");
  EXPECT_EQ(
      coerced(
          R"({"a":{"n":"3"}})",
          R"({"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"properties":{"n":{"type":"integer"}}}}})")
          .dump(),
      R"({"a":{"n":3}})");
  EXPECT_EQ(coerced(R"({"k":"1"})", R"({"additionalProperties":{"type":"integer"}})").dump(),
            R"({"k":1})");
  // Schemas that refer to themselves end.
  EXPECT_EQ(coerced(R"("5")", R"({"$ref":"#"})").dump(), "\"5\"");
  EXPECT_EQ(coerced(R"("5")", R"({"anyOf":[{"$ref":"#"},{"$ref":"#"}]})").dump(), "\"5\"");
}

TEST(Call, KeysKeepTheModelsOrder) {
  std::vector<Tool> tools = {{"f", "", {{"properties", {{"a", {}}, {"b", {}}}}}, {}}};
  auto calls = parse_calls(R"({"name":"f","arguments":{"b":1,"a":{"z":1,"y":2}}})", tools,
                           CallPlace::kTagged);
  ASSERT_TRUE(calls);
  EXPECT_EQ((*calls)[0].arguments.dump(), R"({"b":1,"a":{"z":1,"y":2}})");
}

TEST(Call, LongIntegersKeepTheirDigits) {
  const std::vector<Tool> tools = {
      {"f",
       "",
       Json::parse(R"({"properties":{"id":{"type":"integer"},"s":{"type":"string"}}})"),
       {}}};
  const auto arguments = [&tools](const char* json) {
    const auto calls = parse_calls(json, tools, CallPlace::kTagged);
    std::vector<Event> events;
    append_call(calls.value()[0], 0, 0, &events);
    return std::get<ToolCallArgsDelta>(events[1]).json;
  };
  EXPECT_EQ(arguments(R"({"name":"f","arguments":{"id":123456789012345678901234567890}})"),
            R"({"id":123456789012345678901234567890})");
  EXPECT_EQ(arguments(R"({"name":"f","arguments":{"id":"-18446744073709551616"}})"),
            R"({"id":-18446744073709551616})");
  EXPECT_EQ(
      arguments(R"({"name":"f","arguments":{"s":18446744073709551616,"x":[9007199254740993]}})"),
      R"({"s":"18446744073709551616","x":[9007199254740993]})");
  EXPECT_EQ(arguments(R"({"name":"f","arguments":"{\"id\": 18446744073709551616}"})"),
            R"({"id":18446744073709551616})");
}

TEST(Call, IdsAreUnique) {
  std::set<std::string> ids;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (int index = 0; index < 5; ++index) ids.insert(make_call_id(seed, index));
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(ids.begin()->size(), 29u);
}

}  // namespace
}  // namespace tempo9::chat
