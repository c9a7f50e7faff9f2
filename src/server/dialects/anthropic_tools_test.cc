#include <gtest/gtest.h>

#include "server/dialects/anthropic.h"

namespace tempo9::server::anthropic {
namespace {

std::string names(const std::vector<chat::Tool>& tools) {
  std::string out;
  for (const chat::Tool& tool : tools) out += tool.name + " ";
  return out;
}

std::string tools_error(const char* text) {
  const Json json = Json::parse(text);
  std::vector<std::string> warnings;
  const auto tools = read_tools(&json, &warnings);
  return tools ? "no error" : tools.error().message;
}

TEST(AnthropicTools, BecomeFunctions) {
  const Json json = Json::parse(R"([{"name": "ls", "description": "List.", "input_schema":
      {"type": "object", "properties": {"z": {}, "a": {}}}, "cache_control": {"type": "ephemeral"},
      "eager_input_streaming": true}, {"name": "bare", "type": "custom", "input_schema": {}, "strict": true}])");
  std::vector<std::string> warnings;
  const auto tools = read_tools(&json, &warnings);
  ASSERT_TRUE(tools);
  ASSERT_EQ(tools->shown.size(), 2u);
  EXPECT_EQ(tools->shown[0].raw.dump(),
            R"({"type":"function","function":{"name":"ls","description":"List.","parameters":)"
            R"({"type":"object","properties":{"z":{},"a":{}}}}})");
  EXPECT_EQ(tools->shown[1].raw["function"]["strict"], true);
  EXPECT_TRUE(warnings.empty());
}

TEST(AnthropicTools, ServerToolsAreLeftOutWithAWarning) {
  const Json json = Json::parse(R"([{"type": "web_search_20250305", "name": "web_search"},
      {"name": "ls", "input_schema": {}}, {"name": "later", "input_schema": {}, "defer_loading": true}])");
  std::vector<std::string> warnings;
  const auto tools = read_tools(&json, &warnings);
  ASSERT_TRUE(tools);
  EXPECT_EQ(names(tools->shown), "ls ");
  EXPECT_EQ(names(tools->deferred), "later ");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("tools[0].type: found the string \"web_search_20250305\""));
}

TEST(AnthropicTools, NothingStaysDeferredBehindASearchThatDoesNotRun) {
  const Json json = Json::parse(R"([{"type": "tool_search_tool_regex_20251119", "name": "s"},
      {"name": "later", "input_schema": {}, "defer_loading": true}])");
  std::vector<std::string> warnings;
  EXPECT_EQ(names(read_tools(&json, &warnings)->shown), "later ");
}

TEST(AnthropicTools, WarningsAreBounded) {
  Json json = Json::array();
  for (int i = 0; i < 1000; ++i) json.push_back({{"type", std::string(1000, 'x')}, {"name", "n"}});
  std::vector<std::string> warnings;
  ASSERT_TRUE(read_tools(&json, &warnings));
  EXPECT_LE(warning_headers(warnings).at(0).second.size(), 4096u);
}

TEST(AnthropicTools, WrongToolsNameThePlace) {
  EXPECT_TRUE(tools_error("{}").starts_with("tools: "));
  EXPECT_TRUE(tools_error("[1]").starts_with("tools[0]: "));
  EXPECT_TRUE(
      tools_error(R"([{"name": "x"}])").starts_with("tools[0].input_schema: found nothing"));
  EXPECT_TRUE(
      tools_error(R"([{"name": "x", "input_schema": []}])").starts_with("tools[0].input_schema: "));
  EXPECT_TRUE(tools_error(R"([{"input_schema": {}}])").starts_with("tools[0].name: "));
  EXPECT_TRUE(tools_error(R"([{"type": 1, "name": "x", "input_schema": {}}])")
                  .starts_with("tools[0].type: "));
}

TEST(AnthropicTools, Choices) {
  using Kind = chat::ToolChoice::Kind;
  const auto kind = [](const char* text) {
    const Json json = Json::parse(text);
    return read_tool_choice(&json).value().choice.kind;
  };
  EXPECT_EQ(read_tool_choice(nullptr)->choice.kind, Kind::kAuto);
  EXPECT_EQ(kind(R"({"type": "auto"})"), Kind::kAuto);
  EXPECT_EQ(kind(R"({"type": "any"})"), Kind::kRequired);
  EXPECT_EQ(kind(R"({"type": "none"})"), Kind::kNone);
  EXPECT_EQ(kind(R"({"type": "tool", "name": "ls"})"), Kind::kNamed);
  const Json alone = Json::parse(R"({"type": "auto", "disable_parallel_tool_use": true})");
  EXPECT_FALSE(read_tool_choice(&alone)->parallel);
  for (const char* text : {R"("auto")", R"({"type": "function"})", R"({"type": "tool"})", "{}"}) {
    const Json json = Json::parse(text);
    const auto choice = read_tool_choice(&json);
    ASSERT_FALSE(choice) << text;
    EXPECT_TRUE(choice.error().message.starts_with("tool_choice")) << choice.error().message;
  }
}

}  // namespace
}  // namespace tempo9::server::anthropic
