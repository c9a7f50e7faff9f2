#include "server/custom_tool.h"

#include <gtest/gtest.h>

namespace tempo9::server {
namespace {

using chat::Json;

TEST(CustomTool, IsAFunctionOfOneString) {
  const auto tool = custom_as_function(Json::parse(R"({"name": "t"})"), "tools[0]", "ns__t");
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->name, "ns__t");
  EXPECT_EQ(tool->raw["function"]["name"], "ns__t");
  EXPECT_FALSE(tool->raw["function"].contains("description"));
  EXPECT_EQ(tool->parameters["properties"]["input"]["type"], "string");
  EXPECT_EQ(tool->parameters["required"], Json({"input"}));
}

TEST(CustomTool, BothShapesOfAGrammarAreTold) {
  for (const char* format :
       {R"({"type": "grammar", "syntax": "lark", "definition": "start: WORD"})",
        R"({"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: WORD"}})"}) {
    const Json entry{{"description", "Edits."}, {"format", Json::parse(format)}};
    const auto tool = custom_as_function(entry, "tools[0]", "t");
    ASSERT_TRUE(tool) << tool.error().message;
    EXPECT_TRUE(tool->description.starts_with("Edits.\n\n")) << tool->description;
    EXPECT_NE(tool->description.find("lark"), std::string::npos);
    EXPECT_TRUE(tool->description.ends_with("start: WORD"));
    ASSERT_TRUE(tool->grammar);
    EXPECT_EQ(tool->grammar->syntax, "lark");
    EXPECT_EQ(tool->grammar->definition, "start: WORD");
    EXPECT_FALSE(tool->grammar->strict);
  }
  const auto plain =
      custom_as_function(Json::parse(R"({"format": {"type": "text"}})"), "tools[0]", "t");
  EXPECT_EQ(plain->description, "");
}

TEST(CustomTool, ErrorsNameThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"description": 5})", "x.description: "},
      {R"({"format": {"type": "yaml"}})", "x.format.type: "},
      {R"({"format": {"type": "grammar", "grammar": {"syntax": 5}}})", "x.format.grammar.syntax: "},
      {R"({"format": {"type": "grammar", "syntax": "ebnf", "definition": ""}})",
       "x.format.syntax: "},
      {R"({"format": {"type": "grammar", "syntax": "lark"}})", "x.format.definition: "},
  };
  for (const auto& [json, place] : cases) {
    const auto tool = custom_as_function(Json::parse(json), "x", "t");
    ASSERT_FALSE(tool) << json;
    EXPECT_TRUE(tool.error().message.starts_with(place)) << tool.error().message;
  }
}

TEST(CustomTool, InputsComeBackWhole) {
  for (const std::string text : {"", "plain", "\"quoted\"\n\\", "{\"input\": 1}", "🧑‍💻"})
    EXPECT_EQ(custom_input(custom_arguments(text).dump()), text);
  // Not in that shape: nothing of it is lost.
  for (const char* other : {"{}", R"({"input":5})", R"({"input":"a","b":1})", "not json", ""})
    EXPECT_EQ(custom_input(other), other);
}

}  // namespace
}  // namespace tempo9::server
