// system and messages of the Messages API: what the template is given.
#include <gtest/gtest.h>

#include "server/dialects/anthropic.h"

namespace tempo9::server::anthropic {
namespace {

using Messages = std::vector<chat::Message>;

Result<Messages> read(const char* system, const char* messages,
                      const std::vector<chat::Tool>& deferred = {}) {
  const Json system_json = Json::parse(system);
  const Json messages_json = Json::parse(messages);
  return read_messages(system_json.is_null() ? nullptr : &system_json, &messages_json, deferred);
}

// "role: text" a line.
std::string outline(const Result<Messages>& messages) {
  if (!messages) return messages.error().message;
  std::string out;
  for (const chat::Message& m : *messages) out += fmt::format("{}: {}\n", m.role, m.text);
  return out;
}

std::string error_of(const char* messages, const char* system = "null") {
  const auto result = read(system, messages);
  return result ? "no error" : result.error().message;
}

constexpr const char* kHiMessages = R"([{"role": "user", "content": "hi"}])";

TEST(AnthropicContent, StringsAndBlocksAreTheSame) {
  const std::string expected = "system: You help.\nuser: hi\nsystem: A note.\n";
  EXPECT_EQ(outline(read(R"("You help.")", R"([{"role": "user", "content": "hi"},
                    {"role": "system", "content": "A note."}])")),
            expected);
  EXPECT_EQ(outline(read(R"([{"type": "text", "text": "You "}, {"type": "text", "text": "help.",
                    "cache_control": {"type": "ephemeral"}}])",
                         R"([{"role": "user", "content": [{"type": "text", "text": "h"},
                    {"type": "text", "text": "i", "citations": null}]}, {"role": "system", "content":
                    [{"type": "text", "text": "A note.", "cache_control": {"type": "ephemeral"}}]}])")),
            expected);
}

TEST(AnthropicContent, BillingStampIsDropped) {
  const char* stamp_block =
      R"([{"type": "text", "text": "x-anthropic-billing-header: cc_version=9; cch=ab1;"},
                                {"type": "text", "text": "You help."}])";
  const char* stamp_line = R"("x-anthropic-billing-header: cc_version=9; cch=0c2;\nYou help.")";
  for (const char* system : {stamp_block, stamp_line, R"("You help.")"})
    EXPECT_EQ(outline(read(system, kHiMessages)), "system: You help.\nuser: hi\n");
  EXPECT_EQ(outline(read(R"("x-anthropic-billing-header: a")", kHiMessages)), "user: hi\n");
}

TEST(AnthropicContent, CallsAndResults) {
  const auto messages = read("null", R"([{"role": "user", "content": "look"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
       {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"b": 1, "a": [2]}},
       {"type": "tool_use", "id": "toolu_2", "name": "cat", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "text"},
       {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": [{"type": "text", "text": "no such file"}]},
       {"type": "text", "text": "go on"}]}])");
  ASSERT_TRUE(messages) << messages.error().message;
  ASSERT_EQ(messages->size(), 5u);
  const chat::Message& call = (*messages)[1];
  EXPECT_EQ(call.reasoning_content, "hm");
  EXPECT_EQ(call.text, "I look.");
  ASSERT_EQ(call.tool_calls.size(), 2u);
  EXPECT_EQ(call.tool_calls[0].arguments.dump(), R"({"b":1,"a":[2]})");
  EXPECT_EQ(call.tool_calls[1].arguments.dump(), "{}");
  EXPECT_EQ((*messages)[2].tool_call_id, "toolu_2");
  EXPECT_EQ((*messages)[2].name, "cat");
  EXPECT_EQ((*messages)[2].text, "text");
  EXPECT_EQ((*messages)[3].text, "Error: no such file");
  EXPECT_EQ((*messages)[4].role, "user");
  EXPECT_EQ((*messages)[4].text, "go on");
}

TEST(AnthropicContent, ResultsOfEveryForm) {
  const auto one = [](const std::string& content) {
    const std::string text =
        R"([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t")" + content +
        "}]}]";
    return outline(read("null", text.c_str()));
  };
  EXPECT_EQ(one(""), "tool: \n");
  EXPECT_EQ(one(R"(, "content": null)"), "tool: \n");
  EXPECT_EQ(one(R"(, "content": [])"), "tool: \n");
  EXPECT_EQ(one(R"(, "content": "Error: x", "is_error": true)"), "tool: Error: x\n");
  EXPECT_EQ(one(R"(, "content": [{"type": "text", "text": "seen"}, {"type": "image", "source":
                  {"type": "base64", "media_type": "image/png", "data": "AA=="}}])"),
            "tool: seen\n[image left out: this model takes text only]\n\n");
  EXPECT_EQ(one(R"(, "content": [{"type": "document", "title": "T", "source": {"type": "text",
                  "media_type": "text/plain", "data": "words"}}])"),
            "tool: T\nwords\n\n");
}

TEST(AnthropicContent, PicturesAreRefusedInTheNewestUserMessageOnly) {
  const std::string picture =
      R"({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}})";
  const std::string newest =
      R"([{"role": "user", "content": [{"type": "text", "text": "see"}, )" + picture + "]}]";
  const auto refused = read("null", newest.c_str());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(refused.error().message.starts_with("messages[0].content[1]: "))
      << refused.error().message;

  const std::string older =
      newest.substr(0, newest.size() - 1) +
      R"(, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}])";
  EXPECT_EQ(outline(read("null", older.c_str())),
            "user: see\n[image left out: this model takes text only]\n\nassistant: a\nuser: b\n");

  const std::string of_a_tool = R"([{"role": "user", "content": [{"type": "tool_result",
      "tool_use_id": "t", "content": "ok"}, )" +
                                picture + "]}]";
  EXPECT_EQ(outline(read("null", of_a_tool.c_str())),
            "tool: ok\nuser: [image left out: this model takes text only]\n\n");
}

TEST(AnthropicContent, DeferredToolsStandWhereTheyAreReferenced) {
  chat::Tool tool;
  tool.name = "fetch";
  tool.raw = {{"type", "function"}, {"function", {{"name", "fetch"}}}};
  const std::string text =
      outline(read("null", R"([{"role": "user", "content": [{"type": "tool_result",
      "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "fetch"},
      {"type": "tool_reference", "tool_name": "gone"}]}]}])",
                   {tool}));
  EXPECT_NE(text.find(tool.raw.dump()), std::string::npos) << text;
  EXPECT_NE(text.find("[tool gone]"), std::string::npos) << text;
}

TEST(AnthropicContent, HiddenThinkingComesBack) {
  const std::string thinking = "I see: \"ä\" \n";
  const Json block = {
      {"type", "thinking"}, {"thinking", ""}, {"signature", sign_thinking(thinking, true)}};
  const Json messages = Json::array({{{"role", "assistant"}, {"content", Json::array({block})}}});
  const auto read_back = read_messages(nullptr, &messages, {});
  ASSERT_TRUE(read_back);
  EXPECT_EQ((*read_back)[0].reasoning_content, thinking);
  // Of others, and what was cut on its way: nothing.
  for (const char* signature : {"EqQBCgIYAhIM", "tempo9:%%%", "tempo9:/w=="}) {
    const Json other = {{"type", "thinking"}, {"thinking", ""}, {"signature", signature}};
    const Json more = Json::array({{{"role", "assistant"}, {"content", Json::array({other})}}});
    EXPECT_EQ(read_messages(nullptr, &more, {}).value()[0].reasoning_content, "") << signature;
  }
}

TEST(AnthropicContent, WorkOfOtherServersIsLeftOut) {
  EXPECT_EQ(
      outline(read("null", R"([{"role": "user", "content": "q"}, {"role": "assistant", "content":
      [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
       {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
       {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "found"}]}])")),
      "user: q\nassistant: found\n");
}

TEST(AnthropicContent, WrongBodiesNameThePlace) {
  EXPECT_EQ(error_of("[]"),
            "messages: found an empty array, expected an array of at least one message");
  EXPECT_TRUE(error_of("[1]").starts_with("messages[0]: "));
  EXPECT_TRUE(error_of(R"([{"content": "x"}])").starts_with("messages[0].role: "));
  EXPECT_TRUE(error_of(R"([{"role": "tool", "content": "x"}])")
                  .starts_with("messages[0].role: found \"tool\""));
  EXPECT_TRUE(error_of(R"([{"role": "user"}])").starts_with("messages[0].content: "));
  EXPECT_TRUE(error_of(R"([{"role": "user", "content": 1}])").starts_with("messages[0].content: "));
  EXPECT_TRUE(
      error_of(R"([{"role": "user", "content": [1]}])").starts_with("messages[0].content[0]: "));
  EXPECT_TRUE(error_of(R"([{"role": "user", "content": [{"text": "x"}]}])")
                  .starts_with("messages[0].content[0].type: "));
  EXPECT_TRUE(error_of(R"([{"role": "user", "content": [{"type": "text", "text": 1}]}])")
                  .starts_with("messages[0].content[0].text: "));
  EXPECT_TRUE(
      error_of(
          R"([{"role": "assistant", "content": [{"type": "tool_use", "name": "n", "input": [1]}]}])")
          .starts_with("messages[0].content[0].input: "));
  EXPECT_TRUE(error_of(R"([{"role": "assistant", "content": [{"type": "tool_use", "input": {}}]}])")
                  .starts_with("messages[0].content[0].name: "));
  EXPECT_TRUE(error_of(kHiMessages, "1").starts_with("system: "));
  EXPECT_TRUE(error_of(kHiMessages, R"([{"type": "image"}])").starts_with("system[0].type: "));
}

}  // namespace
}  // namespace tempo9::server::anthropic
