#include "chat/call_probe.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tempo9::chat {
namespace {

using Answer = CallProbe::Answer;

std::vector<Tool> two_tools() {
  std::vector<Tool> out(2);
  out[0].name = "get_weather";
  out[1].name = "get";
  return out;
}

TEST(CallProbe, TheListBeginsWithTheCall) {
  const std::vector<Tool> tools = two_tools();
  auto probe = std::move(*make_call_probe("hermes", tools));
  ASSERT_EQ(probe->feed(R"({"name": "get", "arguments")"), Answer::kAlone);
  EXPECT_EQ(probe->list_opening(), "```json\n[\n  {\n    \"name\": \"get\",\n    \"arguments\":");
}

// The answer, and behind how many bytes it was known.
std::pair<Answer, size_t> probe_text(std::string_view text) {
  const std::vector<Tool> tools = two_tools();
  auto probe = make_call_probe("hermes", tools);
  EXPECT_TRUE(probe && *probe);
  for (size_t i = 0; i < text.size(); ++i) {
    const Answer answer = (*probe)->feed(text.substr(i, 1));
    if (answer != Answer::kOpen) return {answer, i + 1};
  }
  return {Answer::kOpen, text.size()};
}

TEST(CallProbe, ACallIsKnownWhenItsArgumentsCome) {
  for (const std::string begin : {"", "```json\n", "\n```\n", "<tools>\n", "```tool_call\n"}) {
    const std::string call = begin + R"({"name": "get_weather", "arguments")";
    const auto [answer, at] = probe_text(call + R"(: {"city": "x"}})");
    EXPECT_EQ(answer, Answer::kAlone) << begin;
    EXPECT_EQ(at, call.size()) << begin;
  }
  EXPECT_EQ(probe_text(R"({"name": "get", "parameters": {}})").first, Answer::kAlone);
  EXPECT_EQ(probe_text(R"({"type": "function", "name": "get", "arguments": {}})").first,
            Answer::kAlone);
}

TEST(CallProbe, OtherRepliesAreLetGoAtOnce) {
  const std::string listed = R"(```json
[{"name": "get", "arguments")";
  for (const auto& [text, at] : std::vector<std::pair<std::string, size_t>>{
           {"Sure.", 1},
           {"```python\n", 4},
           {"<think>", 3},
           {"<tool_call>", 11},
           {R"({"city": 1})", 7},
           {R"({"name": "nope", "arguments": {}})", 15},
           {R"({"name": "get", "description": "x"})", 29},
           {"[1, 2]", 6},
           {listed + ": {}}]\n```", listed.size()},
       }) {
    const auto [answer, known_at] = probe_text(text);
    EXPECT_EQ(answer, Answer::kNo) << text;
    EXPECT_LE(known_at, at) << text;
  }
}

TEST(CallProbe, NoAnswerYet) {
  for (const char* text : {"", " \n", "```", "{", "[", R"({"name": "get_weather")"})
    EXPECT_EQ(probe_text(text).first, Answer::kOpen) << text;
}

TEST(CallProbe, OnlyWhereModelsDoSo) {
  const std::vector<Tool> tools = two_tools();
  for (const char* format : {"none", "gemma3", "llama3-json", "mistral"})
    EXPECT_EQ(make_call_probe(format, tools).value(), nullptr) << format;
  EXPECT_EQ(make_call_probe("hermes", {}).value(), nullptr);
  EXPECT_FALSE(make_call_probe("nope", tools));
}

}  // namespace
}  // namespace tempo9::chat
