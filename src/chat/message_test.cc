#include "chat/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo9::chat {
namespace {

using testing::HasSubstr;

std::string error_of(const char* messages) {
  auto result = messages_from_json(Json::parse(messages));
  return result ? "" : result.error().message;
}

TEST(Message, ReadsEveryShapeOfContent) {
  auto messages = messages_from_json(Json::parse(R"([
    {"role": "user", "content": "a", "cache_control": {"type": "ephemeral"}, "mood": 1},
    {"role": "user", "content": [{"type": "text", "text": "b", "cache_control": {}}, {"type": "input_text", "text": "c"}, "d"]},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "e"}]},
    {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
      {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
      {"id": "2", "type": "function", "function": {"name": "g", "arguments": {"b": 2}}},
      {"function": {"name": "h"}}]},
    {"role": "tool", "tool_call_id": "1", "content": []},
    {"role": "assistant"}])"));
  ASSERT_TRUE(messages) << messages.error().message;
  const auto& m = *messages;
  EXPECT_EQ(m[0].text, "a");
  EXPECT_EQ(m[0].extra.dump(), R"({"mood":1})");
  EXPECT_EQ(m[1].joined_text(), "bcd");
  EXPECT_FALSE(m[1].has_parts_beside_text());
  EXPECT_EQ(m[1].parts[0].raw.dump(), R"({"type":"text","text":"b"})");
  EXPECT_TRUE(m[2].has_parts_beside_text());
  EXPECT_EQ(m[2].joined_text(), "e");
  EXPECT_TRUE(m[3].content_null);
  EXPECT_EQ(m[3].reasoning_content, "r");
  ASSERT_EQ(m[3].tool_calls.size(), 3u);
  EXPECT_EQ(m[3].tool_calls[0].arguments, "{\"a\": 1}");
  EXPECT_EQ(m[3].tool_calls[1].arguments.dump(), R"({"b":2})");
  EXPECT_EQ(m[3].tool_calls[2].arguments.dump(), "{}");
  EXPECT_EQ(m[4].tool_call_id, "1");
  EXPECT_FALSE(m[4].content_null);
  EXPECT_TRUE(m[5].content_null);
}

// OpenAI's API reference: parts of an assistant's message may be refusals, "function_call" is the
// deprecated form of "tool_calls".
TEST(Message, ReadsRefusalsAndTheOldFormOfCalls) {
  auto messages = messages_from_json(Json::parse(R"([
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]},
    {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\": 1}"}},
    {"role": "assistant", "content": "x", "function_call": null},
    {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": ""}}]}])"));
  ASSERT_TRUE(messages) << messages.error().message;
  const auto& m = *messages;
  EXPECT_EQ(m[0].joined_text(), "I cannot.");
  EXPECT_FALSE(m[0].has_parts_beside_text());
  ASSERT_EQ(m[1].tool_calls.size(), 1u);
  EXPECT_EQ(m[1].tool_calls[0].name, "f");
  EXPECT_EQ(m[1].tool_calls[0].arguments, "{\"a\": 1}");
  EXPECT_TRUE(m[1].extra.empty()) << m[1].extra.dump();
  EXPECT_TRUE(m[2].tool_calls.empty());
  EXPECT_EQ(m[3].tool_calls.at(0).arguments, Json::object());
  EXPECT_THAT(error_of(R"([{"role":"assistant","function_call":{"arguments":"{}"}}])"),
              HasSubstr("messages[0].function_call.name"));
}

TEST(Message, ErrorsNameThePlace) {
  EXPECT_THAT(error_of("{}"), HasSubstr("messages"));
  EXPECT_THAT(error_of("[]"), HasSubstr("empty"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("messages[0]"));
  EXPECT_THAT(error_of(R"([{"role":"user","content":"a"},{"content":"b"}])"),
              HasSubstr("messages[1].role"));
  EXPECT_THAT(error_of(R"([{"role":"user","content":5}])"), HasSubstr("messages[0].content"));
  EXPECT_THAT(error_of(R"([{"role":"user","content":[{"type":"text"}]}])"),
              HasSubstr("messages[0].content[0].text"));
  EXPECT_THAT(error_of(R"([{"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}}]}])"),
              HasSubstr("messages[0].tool_calls[0].function.name"));
  EXPECT_THAT(
      error_of(
          R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[1]}}]}])"),
      HasSubstr("arguments"));
}

TEST(Tools, FunctionsStayAndHostedToolsGo) {
  auto tools = tools_from_json(Json::parse(R"([
    {"type": "web_search", "external": true},
    {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}},
    {"type": "function", "name": "g", "parameters": {"type": "object"}},
    {"type": "custom", "name": "patch", "format": {}}])"));
  ASSERT_TRUE(tools) << tools.error().message;
  ASSERT_EQ(tools->size(), 2u);
  EXPECT_EQ(
      (*tools)[0].raw.dump(),
      R"({"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}})");
  EXPECT_EQ((*tools)[1].name, "g");
  EXPECT_EQ((*tools)[1].raw.dump(),
            R"({"type":"function","function":{"name":"g","parameters":{"type":"object"}}})");
  EXPECT_TRUE(tools_from_json(nullptr)->empty());
  EXPECT_FALSE(tools_from_json(Json::parse(R"([{"type":"function","function":{}}])")));
}

TEST(ToolChoice, EverySpelling) {
  using Kind = ToolChoice::Kind;
  EXPECT_EQ(tool_choice_from_json(nullptr)->kind, Kind::kAuto);
  EXPECT_EQ(tool_choice_from_json("none")->kind, Kind::kNone);
  EXPECT_EQ(tool_choice_from_json("required")->kind, Kind::kRequired);
  EXPECT_EQ(tool_choice_from_json(Json::parse(R"({"type":"auto"})"))->kind, Kind::kAuto);
  auto named = tool_choice_from_json(Json::parse(R"({"type":"function","function":{"name":"f"}})"));
  ASSERT_TRUE(named);
  EXPECT_EQ(named->name, "f");
  // Chat's shape and that of Responses.
  for (const char* text :
       {R"({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
            {"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "c"}}]}})",
        R"({"type": "allowed_tools", "mode": "required", "tools": [
            {"type": "function", "name": "f"}, {"type": "web_search"}, {"type": "custom", "name": "c"}]})"}) {
    auto allowed = tool_choice_from_json(Json::parse(text));
    ASSERT_TRUE(allowed) << allowed.error().message;
    EXPECT_EQ(allowed->kind, Kind::kRequired);
    EXPECT_EQ(allowed->allowed, (std::vector<std::string>{"f", "c"}));
  }
  EXPECT_EQ(tool_choice_from_json(Json::parse(R"({"type": "custom", "name": "c"})"))->name, "c");
  // Hosted tools only: nothing that is here may be called.
  EXPECT_EQ(tool_choice_from_json(
                Json::parse(R"({"type": "allowed_tools", "tools": [{"type": "web_search"}]})"))
                ->kind,
            Kind::kNone);
  for (const char* text :
       {R"({"type": "allowed_tools"})", R"({"type": "allowed_tools", "tools": []})",
        R"({"type": "allowed_tools", "mode": "some", "tools": [{"name": "f"}]})",
        R"({"type": "allowed_tools", "tools": [{}]})"}) {
    auto refused = tool_choice_from_json(Json::parse(text));
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(refused.error().message.starts_with("tool_choice.")) << refused.error().message;
  }
  EXPECT_FALSE(tool_choice_from_json("sometimes"));
  EXPECT_FALSE(tool_choice_from_json(5));
}

}  // namespace
}  // namespace tempo9::chat
