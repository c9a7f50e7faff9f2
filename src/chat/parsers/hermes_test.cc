#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "chat/parsers/testing/read_reply.h"

namespace tempo9::chat {
namespace {

Tool tool(std::string name, Json properties = Json::object()) {
  return {std::move(name), "", {{"type", "object"}, {"properties", std::move(properties)}}, {}};
}

std::vector<Tool> hermes_tools() {
  return {tool("get_weather", {{"city", {{"type", "string"}}},
                               {"days", {{"type", "integer"}}},
                               {"near", {{"type", "boolean"}}}}),
          tool("write", {{"path", {{"type", "string"}}}, {"content", {{"type", "string"}}}}),
          tool("now")};
}

ParsedReply read_hermes(std::string_view reply, FinishReason reason = FinishReason::kStop) {
  ParserOptions options;
  options.tools = hermes_tools();
  return read_reply("hermes", reply, reason, std::move(options));
}

struct TextCall {
  std::string name, arguments;
  bool operator==(const TextCall&) const = default;
};
void PrintTo(const TextCall& c, std::ostream* os) { *os << c.name << c.arguments; }

std::vector<TextCall> text_calls(const ParsedReply& reply) {
  std::vector<TextCall> out;
  for (const ToolCall& c : reply.calls) out.push_back({c.name, c.arguments.get<std::string>()});
  return out;
}

using TextCalls = std::vector<TextCall>;

TEST(Hermes, TaggedCalls) {
  ParsedReply one = read_hermes(
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund\", \"days\": "
      "2}}\n</tool_call>");
  EXPECT_EQ(text_calls(one), (TextCalls{{"get_weather", R"({"city":"Lund","days":2})"}}));
  EXPECT_EQ(one.text, "");
  // Keys in any order, no white space, prose before.
  ParsedReply two = read_hermes(
      "I "
      "look.\n<tool_call>{\"arguments\":{\"city\":\"Lund\"},\"name\":\"get_weather\"}</"
      "tool_call><tool_call>{\"name\":\"now\"}</tool_call>\n");
  EXPECT_EQ(text_calls(two), (TextCalls{{"get_weather", R"({"city":"Lund"})"}, {"now", "{}"}}));
  EXPECT_EQ(two.text, "I look.");
  EXPECT_NE(two.calls[0].id, two.calls[1].id);
  // Arguments as JSON text; closing marks and quotes inside strings; a raw line break.
  EXPECT_EQ(text_calls(read_hermes("<tool_call>{\"name\":\"write\",\"arguments\":\"{\\\"path\\\": "
                                   "\\\"a\\\"}\"}</tool_call>")),
            (TextCalls{{"write", R"({"path":"a"})"}}));
  EXPECT_EQ(text_calls(read_hermes("<tool_call>{\"name\":\"write\",\"arguments\":{\"content\":\"</"
                                   "tool_call>\\\"}\\n\n\"}}</tool_call>")),
            (TextCalls{{"write", R"({"content":"</tool_call>\"}\n\n"})"}}));
  // The model ended the reply without the closing mark.
  EXPECT_EQ(text_calls(read_hermes("<tool_call>{\"name\":\"now\",\"arguments\":{}}")),
            (TextCalls{{"now", "{}"}}));
}

TEST(Hermes, IndexCountsCallsAndNotTools) {
  ParserOptions options;
  options.tools = hermes_tools();
  auto parser = make_parser("hermes", options);
  std::vector<Event> events;
  (*parser)->feed(
      "<tool_call>{\"name\":\"now\"}</"
      "tool_call><tool_call>{\"name\":\"get_weather\",\"arguments\":{}}</tool_call>",
      false, &events);
  (*parser)->finish(FinishReason::kStop, &events);
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(std::get<ToolCallBegin>(events[0]).index, 0);
  EXPECT_EQ(std::get<ToolCallArgsDelta>(events[1]), (ToolCallArgsDelta{0, "{}"}));
  EXPECT_EQ(std::get<ToolCallBegin>(events[3]).index, 1);
  EXPECT_EQ(std::get<ToolCallBegin>(events[3]).name, "get_weather");
}

TEST(Hermes, BrokenCallsAreText) {
  for (std::string reply : {
           "<tool_call>{\"name\":",
           "<tool_call>{\"name\":\"now\",\"arguments\":{}",
           "<tool_call>{'name': 'now'}</tool_call>",
           "<tool_call>[1]</tool_call>",
           "<tool_call>{\"arguments\":{}}</tool_call>",
           "<tool_call>{\"name\":\"now\",\"arguments\":[1]}</tool_call>",
           "<tool_call>{\"name\":\"now\",\"arguments\":\"{\"}</tool_call>",
           "<tool_call></tool_call>",
           "see <tool_call> for more",
       }) {
    SCOPED_TRACE(reply);
    ParsedReply parsed = read_hermes(reply);
    EXPECT_EQ(parsed.text, reply);
    EXPECT_TRUE(parsed.calls.empty());
  }
  // What follows a broken call is still read.
  ParsedReply mixed = read_hermes(
      "<tool_call>{bad}</tool_call>\n<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>");
  EXPECT_EQ(mixed.text, "<tool_call>{bad}</tool_call>");
  EXPECT_EQ(text_calls(mixed), (TextCalls{{"now", "{}"}}));
}

TEST(Hermes, ACallCutByTheLimitIsText) {
  for (std::string reply :
       {"<tool_call>{\"name\":\"now\",\"arguments\":{}}",
        "```json\n{\"name\":\"now\",\"arguments\":{}}", "{\"name\":\"now\",\"arguments\":{}"}) {
    ParsedReply parsed = read_hermes(reply, FinishReason::kLength);
    EXPECT_EQ(parsed.text, reply);
    EXPECT_TRUE(parsed.calls.empty());
  }
}

TEST(Hermes, AReplyThatIsOnlyJson) {
  TextCall lund = {"get_weather", R"({"city":"Lund"})"};
  std::string json = R"({"name": "get_weather", "arguments": {"city": "Lund"}})";
  EXPECT_EQ(text_calls(read_hermes(json)), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("\n" + json + "\n")), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("```json\n" + json + "\n```")), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("```\n" + json + "\n```\n")), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("```json\n" + json)), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes(json + "\n" + json)), (TextCalls{lund, lund}));
  EXPECT_EQ(text_calls(read_hermes("[" + json + ", " + json + "]")), (TextCalls{lund, lund}));
  EXPECT_EQ(text_calls(read_hermes("```json\n[" + json + "]\n```")), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("```json\n" + json + "\n" + json + "\n```\n\n```json\n" + json +
                                   "\n```")),
            (TextCalls{lund, lund, lund}));
  EXPECT_EQ(
      text_calls(read_hermes(
          R"({"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Lund"}}})")),
      TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes(R"({"name": "get_weather", "parameters": {"city": "Lund"}})")),
            TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("<think>\nI call.\n</think>\n\n" + json)), TextCalls{lund});
}

TEST(Hermes, JsonThatIsNoCallIsText) {
  std::string json = R"({"name": "get_weather", "arguments": {"city": "Lund"}})";
  for (std::string reply : {
           std::string(R"({"name": "other", "arguments": {}})"),
           std::string(R"({"name": "Bob", "age": 3})"),
           std::string(R"({"name": "now", "arguments": {}, "note": 1})"),
           std::string(R"({"name": "now"})"),
           std::string("{\"city\": \"Lund\"}"),
           std::string("[1, 2, 3]"),
           "For example: " + json,
           json + "\nThis calls the tool.",
           "I call it. " + json,
           "Like this:\n" + json + "\nSee?",
           "```python\n" + json + "\n```",
           "```\n" + json + "\nprint()\n```",
           "Use `" + json + "`",
           "```python\nx = 1\n```\n" + json + "\nis JSON.",
           std::string("Use\n```json\n{\"name\": \"other\", \"arguments\": {}}\n```"),
           "Use ```json\n" + json + "\n```",
       }) {
    SCOPED_TRACE(reply);
    ParsedReply parsed = read_hermes(reply);
    EXPECT_EQ(parsed.text, reply);
    EXPECT_TRUE(parsed.calls.empty());
  }
}

TEST(Hermes, FencedCallsWithProseAround) {
  const TextCall lund = {"get_weather", R"({"city":"Lund"})"};
  const std::string json = R"({"name": "get_weather", "arguments": {"city": "Lund"}})";
  const std::string fence = "```json\n" + json + "\n```";
  const auto expect = [&](const std::string& reply, const TextCalls& want,
                          const std::string& text) {
    const ParsedReply parsed = read_hermes(reply);
    EXPECT_EQ(text_calls(parsed), want) << reply;
    EXPECT_EQ(parsed.text, text) << reply;
  };
  expect("I will call it:\n" + fence, {lund}, "I will call it:");
  expect("I will call it:\n\n" + fence + "\n", {lund}, "I will call it:");
  expect(fence + "\nThis calls it.", {lund}, "This calls it.");
  expect("First.\n" + fence + "\nThen.\n  ```\n[" + json + "]\n  ```\nDone.\n", {lund, lund},
         "First.\n\nThen.\n  \nDone.\n");
  expect("I call:\n```json\n" + json, {lund}, "I call:");  // ended without the closing fence
  expect("```python\nx = [1]\n{}\n```\n\n" + fence, {lund}, "```python\nx = [1]\n{}\n```");
  expect("```python\nx = 1\n```\n" + json, {lund}, "```python\nx = 1\n```");
  // A fence that is complete is a call also when the limit cuts the reply behind it.
  EXPECT_EQ(text_calls(read_hermes(fence + "\nSo", FinishReason::kLength)), TextCalls{lund});
}

TEST(Hermes, BareCallsAtTheEndOfTheReply) {
  const TextCall lund = {"get_weather", R"({"city":"Lund"})"};
  const std::string json = R"({"name": "get_weather", "arguments": {"city": "Lund"}})";
  EXPECT_EQ(text_calls(read_hermes("I call it:\n" + json)), TextCalls{lund});
  EXPECT_EQ(read_hermes("I call it:\n" + json).text, "I call it:");
  EXPECT_EQ(text_calls(read_hermes("I call it:\n\n" + json + "\n" + json + "\n")),
            (TextCalls{lund, lund}));
  EXPECT_EQ(text_calls(read_hermes("I see [1]:\n[1]\n[" + json + "]")), TextCalls{lund});
  EXPECT_EQ(text_calls(read_hermes("<tool_call>{\"name\":\"now\"}</tool_call>\n" + json)),
            (TextCalls{{"now", "{}"}, lund}));
  EXPECT_EQ(read_hermes("I call it:\n" + json, FinishReason::kLength).text, "I call it:\n" + json);
}

TEST(Hermes, WhiteSpaceBetweenTextsStays) {
  const std::string call = "<tool_call>{\"name\":\"now\"}</tool_call>";
  EXPECT_EQ(read_hermes("One.\n\n" + call + "\n\nTwo.").text, "One.\n\n\n\nTwo.");
  EXPECT_EQ(read_hermes("One. " + call + "Two. " + call + "\n").text, "One. Two.");
  EXPECT_EQ(read_hermes("One.\n" + call + "\n" + call + "\n\nTwo.\n").text, "One.\n\n\n\nTwo.\n");
  EXPECT_EQ(read_hermes("\n" + call + "\n\nTwo.").text, "Two.");
  EXPECT_EQ(read_hermes("One.\n" + call + "\n<tool_call> x").text, "One.\n\n<tool_call> x");
}

TEST(Hermes, HalfASurrogatePairBecomesTheReplacementCharacter) {
  EXPECT_EQ(
      text_calls(read_hermes(
          R"(<tool_call>{"name":"write","arguments":{"path":"\ud83d x \ude00 \ud83d\ude00"}}</tool_call>)")),
      (TextCalls{{"write", "{\"path\":\"\xEF\xBF\xBD x \xEF\xBF\xBD \xF0\x9F\x98\x80\"}"}}));
}

TEST(Hermes, TextIsHeldOnlyWhileItCanBecomeACall) {
  auto first_text_after = [](std::string_view reply) {
    ParserOptions options;
    options.tools = hermes_tools();
    auto parser = make_parser("hermes", options);
    std::vector<Event> events;
    for (size_t i = 0; i < reply.size(); ++i) {
      (*parser)->feed(reply.substr(i, 1), false, &events);
      if (!events.empty()) return static_cast<int>(i);
    }
    return -1;
  };
  EXPECT_EQ(first_text_after("Hello"), 0);
  EXPECT_EQ(first_text_after("{\"city\": 1}"), 6);                   // a key that no call has
  EXPECT_EQ(first_text_after("{\"name\": \"bob\", \"x\": 1}"), 13);  // a tool that is not offered
  EXPECT_EQ(first_text_after("```python\nx"), 3);
  EXPECT_EQ(first_text_after("[link](x)"), 1);
  EXPECT_EQ(first_text_after("```json\n{\"name\": \"now\", \"arguments\": {}}\n```"), 43);
  EXPECT_EQ(first_text_after("{\"name\": \"now\", \"arguments\": {"), -1);
}

TEST(Hermes, MentionedWhileThinkingIsNoCall) {
  ParsedReply reply = read_hermes(
      "<think>I could emit <tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call> but "
      "no.</think>Done.");
  EXPECT_EQ(reply.reasoning,
            "I could emit <tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call> but no.");
  EXPECT_EQ(reply.text, "Done.");
  EXPECT_TRUE(reply.calls.empty());
}

TEST(Hermes, MarksOfTheVocabularyMustBeTokens) {
  ParserOptions options;
  options.tools = hermes_tools();
  options.has_token = [](std::string_view s) { return s == "<tool_call>" || s == "</tool_call>"; };
  std::string before = "{\"name\":\"write\",\"arguments\":{\"content\":\"", after = "\"}}";
  auto run = [&](bool token) {
    auto parser = make_parser("hermes", options);
    std::vector<Event> events;
    (*parser)->feed("<tool_call>", token, &events);
    (*parser)->feed(before, false, &events);
    (*parser)->feed("</tool_call>", true, &events);  // inside a string: text
    (*parser)->feed(after, false, &events);
    (*parser)->feed("</tool_call>", token, &events);
    (*parser)->finish(FinishReason::kStop, &events);
    return join_events(events);
  };
  EXPECT_EQ(text_calls(run(true)), (TextCalls{{"write", R"({"content":"</tool_call>"})"}}));
  EXPECT_EQ(run(false).text, "<tool_call>" + before + "</tool_call>" + after + "</tool_call>");
}

}  // namespace
}  // namespace tempo9::chat
