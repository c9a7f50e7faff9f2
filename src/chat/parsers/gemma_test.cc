#include "chat/parsers/testing/read_reply.h"

namespace tempo9::chat {
namespace {

TEST(Gemma, QuotesInsideText) {
  EXPECT_EQ(
      calls_text(read_reply(
          "gemma4", "<|tool_call>call:f{text:<|\"|>she said \"go\", then left<|\"|>}<tool_call|>")),
      R"(f{"text":"she said \"go\", then left"})");
  EXPECT_EQ(calls_text(read_reply("functiongemma",
                                  "<start_function_call>call:get_weather{city:<escape>Lund}"
                                  "<escape>,days:2}<end_function_call>")),
            R"(get_weather{"city":"Lund}","days":2})");
}

TEST(Gemma, Values) {
  EXPECT_EQ(calls_text(read_reply("gemma4",
                                  "<|tool_call>call:f{a:[1,None,true],b:{c:<|\"|>x<|\"|>},"
                                  "<|\"|>k y<|\"|>:1.50,d:word}<tool_call|>")),
            R"(f{"a":[1,null,true],"b":{"c":"x"},"k y":1.50,"d":"word"})");
}

TEST(Gemma, ThinkingHasALabel) {
  const ParsedReply reply = read_reply(
      "gemma4",
      "<|channel>thought\nI could <|tool_call>call:f{}<tool_call|> but no.\n<channel|>Done.");
  EXPECT_EQ(reply.reasoning, "I could <|tool_call>call:f{}<tool_call|> but no.");
  EXPECT_EQ(reply.text, "Done.");
  EXPECT_TRUE(reply.calls.empty());
  EXPECT_EQ(read_reply("gemma4", "<|channel>thought\n<channel|>Done.").reasoning, "");
}

TEST(Gemma, Gemma3WritesPythonInAFence) {
  EXPECT_EQ(calls_text(read_reply("gemma3", "```tool_code\nget_weather(city='Lund', days=2)\n```")),
            R"(get_weather{"city":"Lund","days":2})");
  EXPECT_EQ(calls_text(read_reply("gemma3", "[f(a=1), g()]")), R"(f{"a":1} g{})");
  EXPECT_EQ(read_reply("gemma3", "```python\nf(a=1)\n```").text, "```python\nf(a=1)\n```");
}

}  // namespace
}  // namespace tempo9::chat
