// Every format: the same events for every cut, and nothing lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "chat/parser.h"

namespace tempo9::chat {
namespace {

std::vector<Tool> tools() {
  Json weather = {
      {"type", "object"},
      {"properties", {{"city", {{"type", "string"}}}, {"days", {{"type", "integer"}}}}}};
  return {{"get_weather", "", weather, {}}, {"f", "", Json::object(), {}}};
}

ParserOptions options() {
  ParserOptions o;
  o.tools = tools();
  o.id_seed = 7;
  return o;
}

ParsedReply parse(std::string_view format, const std::vector<std::string>& pieces,
                  FinishReason reason = FinishReason::kStop, ParserOptions o = options()) {
  Result<std::unique_ptr<OutputParser>> parser = make_parser(format, std::move(o));
  EXPECT_TRUE(parser);
  std::vector<Event> events;
  for (const std::string& piece : pieces) (*parser)->feed(piece, false, &events);
  (*parser)->finish(reason, &events);
  for (const Event& e : events) {
    if (const auto* text = std::get_if<TextDelta>(&e)) {
      EXPECT_FALSE(text->text.empty());
    }
  }
  return join_events(events);
}

// Replies of each format, calls and what looks like them. A format that is not named here fails the
// test.
std::vector<std::string> replies(std::string_view format) {
  std::vector<std::string> common = {
      "",
      "Plain text.\n\n  With lines \n",
      "<think>\nhm </thin k> "
      "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n</think>\n\nDone. 🙂",
      "<think>never closed 日本 \n",
      " \n<think>a</think> <think>b</think> text <think>c</think>",
      "a < b, <thin, ```x```, {\"k\": 1}",
  };
  std::vector<std::string> own;
  if (format == "hermes") {
    own = {
        "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund "
        "\\\"x\\\" </tool_call> </\"}}\n"
        "</tool_call>\n<tool_call>\n{\"arguments\": {\"a\":\"}</\"}, \"name\": "
        "\"f\"}\n</tool_call>\n",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>tail<tool_call>{\"name\":\"f\"}</"
        "tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}\n<tool_call>{\"name\":\"f\",\"arguments\":\"{"
        "}\"}</tool_call>",
        "<tool_call>{bad}</tool_call> then "
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":[1,{\"y\":null}]}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"line\nbreak\"}}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"argu",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_",
        "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call></tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}} x</tool_call>",
        "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund\"}}\n```",
        "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lund\"}}\n```\nSo it is.",
        "```json\n{\"name\": \"other\", \"arguments\": {}}\n```",
        "{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"f\", \"arguments\": {\"a\": "
        "\"<tool_call>\"}}",
        "[{\"name\": \"f\", \"parameters\": {}}, {\"type\": \"function\", \"name\": \"f\", "
        "\"parameters\": {\"q\": 1}}]",
        "<tools>\n{\"name\": \"f\", \"arguments\": {}}\n</tools>",
        "```python\nprint(1)\n```",
        "Look:\n```json\n{\"name\": \"f\", \"arguments\": {}}\n```\n\nand {\"name\":\n"
        "{\"name\": \"f\", \"arguments\": {}}\n",
        "```js\n``\n{\"name\": \"f\", \"arguments\": {}}\n ``` x\n"
        "[{\"name\": \"f\", \"arguments\": {}}]",
        "One.\n\n<tool_call>{\"name\":\"f\"}</tool_call>\n\nTwo.\n",
        "{\"name\": \"f\", \"arguments\": {}} "
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
    };
  } else {
    EXPECT_EQ(format, "none") << "a format without replies in this test";
  }
  own.insert(own.end(), common.begin(), common.end());
  return own;
}

class EveryFormat : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryFormat, EveryCutGivesTheSameReply) {
  for (const std::string& reply : replies(GetParam())) {
    SCOPED_TRACE(reply);
    for (FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      ParsedReply whole = parse(GetParam(), {reply}, reason);
      std::vector<std::string> bytes;
      for (char c : reply) bytes.emplace_back(1, c);
      ASSERT_EQ(parse(GetParam(), bytes, reason), whole);
      for (size_t i = 0; i <= reply.size(); ++i) {
        ASSERT_EQ(parse(GetParam(), {reply.substr(0, i), reply.substr(i)}, reason), whole)
            << "cut at " << i;
      }
      // Three pieces: every pair of cuts of the short ones, a sample of the long ones.
      size_t stride = reply.size() < 60 ? 1 : reply.size() / 30;
      for (size_t i = 0; i <= reply.size(); i += stride) {
        for (size_t j = i; j <= reply.size(); j += stride) {
          ASSERT_EQ(parse(GetParam(), {reply.substr(0, i), reply.substr(i, j - i), reply.substr(j)},
                          reason),
                    whole)
              << "cut at " << i << " and " << j;
        }
      }
    }
  }
}

TEST_P(EveryFormat, RandomMixturesGiveTheSameReplyForRandomCuts) {
  const char* parts[] = {"<tool_call>",
                         "</tool_call>",
                         "<think>",
                         "</think>",
                         "{\"name\":\"f\",\"arguments\":{",
                         "}}",
                         "\"",
                         "```json\n",
                         "```",
                         "\n",
                         " ",
                         "x",
                         "é",
                         "<",
                         "</",
                         "{\"name\":\"f\",\"arguments\":{\"a\":\"<tool_call>\"}}",
                         "[",
                         "]",
                         ","};
  std::mt19937 random(20260504);
  for (int round = 0; round < 3000; ++round) {
    std::string reply;
    for (auto n = random() % 9; n > 0; --n) reply += parts[random() % std::size(parts)];
    std::vector<std::string> pieces;
    for (size_t at = 0; at < reply.size();) {
      size_t n = 1 + random() % 6;
      pieces.push_back(reply.substr(at, n));
      at += n;
    }
    FinishReason reason = random() % 2 == 0 ? FinishReason::kStop : FinishReason::kLength;
    ASSERT_EQ(parse(GetParam(), pieces, reason), parse(GetParam(), {reply}, reason)) << reply;
  }
}

TEST_P(EveryFormat, WithoutToolsAReplyIsItsText) {
  for (const std::string& reply : replies(GetParam())) {
    ParserOptions o;
    o.split_thinking = false;
    ParsedReply parsed = parse(GetParam(), {reply}, FinishReason::kStop, o);
    EXPECT_EQ(parsed.text, reply);
    EXPECT_TRUE(parsed.calls.empty());
  }
}

TEST_P(EveryFormat, CharactersCutApartComeWhole) {
  std::string emoji = "\xF0\x9F\xA7\x91\xE2\x80\x8D\xF0\x9F\x92\xBB";
  for (std::string reply : {emoji, "<think>" + emoji + "</think>" + emoji}) {
    Result<std::unique_ptr<OutputParser>> parser = make_parser(GetParam(), options());
    std::vector<Event> events;
    for (char c : reply) (*parser)->feed(std::string_view(&c, 1), false, &events);
    (*parser)->finish(FinishReason::kStop, &events);
    for (const Event& e : events) {
      const std::string& text = std::holds_alternative<TextDelta>(e)
                                    ? std::get<TextDelta>(e).text
                                    : std::get<ReasoningDelta>(e).text;
      EXPECT_FALSE(Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore).size() !=
                   text.size() + 2)
          << text;
    }
    EXPECT_EQ(join_events(events).text, emoji);
  }
  EXPECT_EQ(parse(GetParam(), {"a\xFF", "b\xE2\x82"}).text,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD");
}

INSTANTIATE_TEST_SUITE_P(All, EveryFormat, testing::ValuesIn(format_names()), [](const auto& p) {
  std::string n(p.param);
  std::replace(n.begin(), n.end(), '-', '_');
  return n;
});

TEST(Registry, UnknownFormatNamesTheKnown) {
  Result<std::unique_ptr<OutputParser>> parser = make_parser("herms", {});
  ASSERT_FALSE(parser);
  EXPECT_THAT(parser.error().message, testing::HasSubstr("hermes"));
}

TEST(Registry, ThinkingOpenedByThePrompt) {
  ParserOptions o = options();
  o.starts_in_thinking = true;
  ParsedReply reply = parse("none", {"\nso\n", "</think>\n\nDone."}, FinishReason::kStop, o);
  EXPECT_EQ(reply.reasoning, "so");
  EXPECT_EQ(reply.text, "Done.");
}

TEST(Registry, ThinkingMarkMustBeAToken) {
  ParserOptions o = options();
  o.has_token = [](std::string_view s) { return s == "<think>" || s == "</think>"; };
  EXPECT_EQ(parse("none", {"<think>a</think>b"}, FinishReason::kStop, o).text, "<think>a</think>b");
  auto parser = make_parser("none", o);
  std::vector<Event> events;
  (*parser)->feed("<think>", true, &events);
  (*parser)->feed("a</think>", false, &events);
  (*parser)->feed("</think>", true, &events);
  (*parser)->feed("b", false, &events);
  (*parser)->finish(FinishReason::kStop, &events);
  EXPECT_EQ(join_events(events).reasoning, "a</think>");
  EXPECT_EQ(join_events(events).text, "b");
}

}  // namespace
}  // namespace tempo9::chat
