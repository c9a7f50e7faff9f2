#include "server/dialects/openai_responses_tools.h"

#include <gtest/gtest.h>

namespace tempo9::server::openai {
namespace {

using Kind = ToolOrigin::Kind;

ResponseTools tools_of(const char* json) {
  auto tools = ResponseTools::from_json(Json::parse(json));
  EXPECT_TRUE(tools) << tools.error().message;
  return tools ? *tools : ResponseTools();
}

std::vector<std::string> names(const std::vector<chat::Tool>& tools) {
  std::vector<std::string> out;
  for (const chat::Tool& tool : tools) out.push_back(tool.name);
  return out;
}

TEST(ResponseTools, FunctionsLoseWhatTheModelNeedNotSee) {
  const auto tools = tools_of(
      R"([{"type": "function", "strict": true, "parameters": {"type": "object"}, "name": "f",
           "description": "d", "defer_loading": true}, {"type": "function", "name": "g"}])");
  ASSERT_EQ(names(tools.shown()), (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(tools.shown()[0].raw,
            Json::parse(R"({"type": "function", "function": {"name": "f", "description": "d",
                            "parameters": {"type": "object"}}})"));
  EXPECT_EQ(tools.shown()[1].raw["function"]["parameters"]["type"], "object");
  EXPECT_TRUE(tools.warnings().empty());
  EXPECT_TRUE(ResponseTools::from_json(Json(nullptr))->shown().empty());
}

TEST(ResponseTools, CustomToolsTakeOneStringAndTellTheirGrammar) {
  const auto tools = tools_of(
      R"([{"type": "custom", "name": "patch", "description": "Edits.",
           "format": {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}},
          {"type": "custom", "name": "say"}])");
  ASSERT_EQ(tools.shown().size(), 2u);
  const chat::Tool& patch = tools.shown()[0];
  EXPECT_EQ(patch.parameters["properties"]["input"]["type"], "string");
  EXPECT_NE(patch.description.find("lark"), std::string::npos);
  EXPECT_NE(patch.description.find("start: WORD"), std::string::npos);
  EXPECT_EQ(tools.origin("patch").kind, Kind::kCustom);
  EXPECT_EQ(tools.origin("say").name, "say");
}

TEST(ResponseTools, EachKindIsNamedWhereItsNameIsRead) {
  const auto tools = tools_of(
      R"([{"type": "custom", "name": "x", "function": {}},
          {"type": "custom", "name": "y", "function": {"name": "other"}},
          {"type": "function", "name": "other", "function": {"name": "z"}}])");
  EXPECT_EQ(names(tools.shown()), (std::vector<std::string>{"x", "y", "z"}));
  for (const char* name : {"x", "y", "z"}) EXPECT_EQ(tools.origin(name).name, name);
  EXPECT_EQ(tools.origin("x").kind, Kind::kCustom);
}

TEST(ResponseTools, NamespacesAreFoundHoweverTheModelJoinsThem) {
  const auto tools = tools_of(
      R"([{"type": "namespace", "name": "agents", "description": "", "tools": [
            {"type": "function", "name": "spawn"}, {"type": "custom", "name": "say"},
            {"type": "function", "name": "shared"}]},
          {"type": "namespace", "name": "mcp__", "tools": [{"type": "function", "name": "shared"}]},
          {"type": "function", "name": "plain"}])");
  EXPECT_EQ(names(tools.shown()),
            (std::vector<std::string>{"agents__spawn", "agents__say", "agents__shared",
                                      "mcp__shared", "plain"}));
  for (const char* spelling : {"agents__spawn", "agents.spawn", "agents/spawn", "spawn"}) {
    const ToolOrigin origin = tools.origin(spelling);
    EXPECT_EQ(origin.name, "spawn") << spelling;
    EXPECT_EQ(origin.name_space, "agents") << spelling;
  }
  EXPECT_EQ(tools.origin("agents__say").kind, Kind::kCustom);
  EXPECT_EQ(tools.origin("plain").name_space, "");
  // Two namespaces have it: nobody can say which one was meant.
  EXPECT_EQ(tools.origin("shared").name_space, "");
  EXPECT_EQ(tools.origin("unknown").name, "unknown");
}

TEST(ResponseTools, HostedToolsAreLeftOutWithTheirPlace) {
  const auto tools = tools_of(
      R"([{"type": "web_search"}, {"type": "function", "name": "f"}, {"type": "tool_search"},
          {"type": "of_the_future", "x": 1}])");
  EXPECT_EQ(names(tools.shown()), (std::vector<std::string>{"f"}));
  ASSERT_EQ(tools.warnings().size(), 3u);
  EXPECT_NE(tools.warnings()[0].find("tools[0]"), std::string::npos);
  EXPECT_NE(tools.warnings()[2].find("of_the_future"), std::string::npos);
}

constexpr const char* kDeferred =
    R"([{"type": "tool_search", "execution": "client", "description": "Finds."},
        {"type": "function", "name": "late", "defer_loading": true},
        {"type": "namespace", "name": "ns", "tools": [
          {"type": "function", "name": "later", "defer_loading": true}]}])";

TEST(ResponseTools, DeferredToolsComeWithTheSearch) {
  auto tools = tools_of(kDeferred);
  EXPECT_EQ(names(tools.shown()), (std::vector<std::string>{"tool_search"}));
  EXPECT_EQ(tools.origin("tool_search").kind, Kind::kToolSearch);
  const Json found = Json::parse(R"([{"type": "function", "name": "late", "defer_loading": true},
                                     {"type": "function", "name": "new"}])");
  const auto text = tools.load(found, "input[2].tools");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(R"({"type":"function","function":{"name":"late")"), std::string::npos);
  EXPECT_EQ(names(tools.loaded()), (std::vector<std::string>{"late", "new"}));
  // Found again: listed for the model, declared once.
  EXPECT_EQ(*tools.load(found, "input[4].tools"), *text);
  EXPECT_EQ(tools.loaded().size(), 2u);
  EXPECT_EQ(*tools.load(Json::array(), "input[6].tools"), "No tools were found.");
}

// Nobody would ever bring them.
TEST(ResponseTools, WithoutASearchOfTheClientNothingWaits) {
  const auto tools = tools_of(
      R"([{"type": "tool_search"}, {"type": "function", "name": "late", "defer_loading": true}])");
  EXPECT_EQ(names(tools.shown()), (std::vector<std::string>{"late"}));
}

TEST(ResponseTools, ASecondOfTheSameNameIsLeftOut) {
  const auto tools = tools_of(
      R"([{"type": "function", "name": "f", "description": "first"}, {"type": "custom", "name": "f"}])");
  ASSERT_EQ(tools.shown().size(), 1u);
  EXPECT_EQ(tools.shown()[0].description, "first");
  EXPECT_EQ(tools.warnings().size(), 1u);
}

TEST(ResponseTools, ErrorsNameThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "tools: "},
      {R"([5])", "tools[0]: "},
      {R"([{"type": 5}])", "tools[0].type: "},
      {R"([{"type": "function"}])", "tools[0].name: "},
      {R"([{"type": "function", "name": "f", "parameters": []}])", "tools[0].parameters: "},
      {R"([{"type": "custom", "name": "f", "format": {"type": "x"}}])", "tools[0].format.type: "},
      {R"([{"type": "namespace", "name": "n"}])", "tools[0].tools: "},
      {R"([{"type": "namespace", "name": "n", "tools": [{"type": "function"}]}])",
       "tools[0].tools[0].name: "},
      {R"([{"type": "namespace", "name": "n", "tools": [{"type": "namespace"}]}])",
       "tools[0].tools[0].type: "},
  };
  for (const auto& [json, place] : cases) {
    const auto tools = ResponseTools::from_json(Json::parse(json));
    ASSERT_FALSE(tools) << json;
    EXPECT_TRUE(tools.error().message.starts_with(place)) << tools.error().message;
  }
}

}  // namespace
}  // namespace tempo9::server::openai
