#include "chat/parsers/testing/read_reply.h"

namespace tempo9::chat {
namespace {

ParsedReply read_harmony(std::string_view reply, FinishReason reason = FinishReason::kStop) {
  return read_reply("harmony", reply, reason);
}

TEST(Harmony, ChannelsAreThinkingCallsAndText) {
  const ParsedReply reply = read_harmony(
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>"
      "I look.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json"
      "<|message|>{\"a\": 1}");
  EXPECT_EQ(reply.reasoning, "Hm.");
  EXPECT_EQ(reply.text, "I look.");
  EXPECT_EQ(calls_text(reply), R"(f{"a":1})");
  const ParsedReply final = read_harmony(
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.");
  EXPECT_EQ(final.reasoning, "Hm.");
  EXPECT_EQ(final.text, "Yes.");
}

TEST(Harmony, TheRecipientStandsAnywhereInTheHeader) {
  for (const char* head : {" to=functions.f<|channel|>commentary json", "<|channel|>analysis to=f",
                           "<|start|>assistant to=functions.f<|channel|>commentary",
                           "<|channel|>commentary to=functions.f code"}) {
    EXPECT_EQ(calls_text(read_harmony(std::string(head) + "<|message|>{}")), "f{}") << head;
  }
}

TEST(Harmony, MarksInsideAnArgumentAreText) {
  EXPECT_EQ(calls_text(read_harmony("<|channel|>commentary to=functions.f<|message|>"
                                    "{\"a\":\"<|end|> <|call|>\"}<|call|>")),
            R"(f{"a":"<|end|> <|call|>"})");
}

TEST(Harmony, WhatIsNoCallStaysText) {
  const std::string bad = "<|channel|>commentary to=functions.f<|message|>{\"a\": 1";
  EXPECT_EQ(read_harmony(bad).text, bad);
  const std::string complete = "<|channel|>commentary to=functions.f<|message|>{\"a\": 1}";
  EXPECT_EQ(read_harmony(complete, FinishReason::kLength).text, complete);
  EXPECT_TRUE(read_harmony(complete, FinishReason::kLength).calls.empty());
  EXPECT_EQ(read_harmony("No header at all.").text, "No header at all.");
  EXPECT_EQ(read_harmony("to=day is fine").text, "to=day is fine");
}

TEST(Harmony, WithoutToolsItsChannelsAreStillToldApart) {
  const ParsedReply reply =
      read_reply("harmony",
                 "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
                 "<|message|>Yes.",
                 FinishReason::kStop, {});
  EXPECT_EQ(reply.reasoning, "Hm.");
  EXPECT_EQ(reply.text, "Yes.");
}

TEST(Harmony, ACallMentionedWhileThinkingIsText) {
  const ParsedReply reply = read_harmony(
      "<|channel|>analysis<|message|>I could write to=functions.rm {} but no.<|end|>"
      "<|channel|>final<|message|>Done.");
  EXPECT_EQ(reply.reasoning, "I could write to=functions.rm {} but no.");
  EXPECT_EQ(reply.text, "Done.");
  EXPECT_TRUE(reply.calls.empty());
}

}  // namespace
}  // namespace tempo9::chat
