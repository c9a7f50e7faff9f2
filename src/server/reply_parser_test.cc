#include "server/reply_parser.h"

#include <gtest/gtest.h>

#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

class ReplyParserTest : public ::testing::Test {
 protected:
  // An event of this text, one token a byte.
  static engine::Event event(const std::string& text) {
    engine::Event out;
    out.text = text;
    for (const char c : text) out.tokens.push_back({static_cast<unsigned char>(c), {}, {}});
    return out;
  }
  static engine::Event end(engine::FinishReason reason) {
    engine::Event out;
    out.finish = engine::Event::Finish{.reason = reason};
    return out;
  }

  testing::FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::vector<chat::Event> out_;
};

TEST_F(ReplyParserTest, ThinkingTokensAreCountedWithTheirOpeningMark) {
  ReplyParserOptions options;
  ReplyParser parser(*service_, options);
  for (const char* text : {"<th", "ink>", "abc", "def", "</think>", "text"})
    parser.feed(event(text), &out_);
  parser.feed(end(engine::FinishReason::kStop), &out_);
  const auto reply = chat::join_events(out_);
  EXPECT_EQ(reply.reasoning, "abcdef");
  EXPECT_EQ(reply.text, "text");
  EXPECT_EQ(parser.n_reasoning_tokens(), std::string("<think>abcdef").size());
}

TEST_F(ReplyParserTest, WithoutThinkingThereAreNone) {
  ReplyParserOptions options;
  ReplyParser parser(*service_, options);
  parser.feed(event("<thin air"), &out_);
  parser.feed(end(engine::FinishReason::kStop), &out_);
  EXPECT_EQ(chat::join_events(out_).text, "<thin air");
  EXPECT_EQ(parser.n_reasoning_tokens(), 0u);
}

TEST_F(ReplyParserTest, WhatTheReplyWasBegunWithIsPartOfIt) {
  engine_.info_.is_script = false;
  ReplyParserOptions options;
  options.parser.tools = chat::tools_from_json(chat::Json::parse(R"([{"name": "f"}])")).value();
  options.opening = {{"<tool_call>", true}, {"\n{\"name\": \"f\", \"arguments\":", false}};
  ReplyParser parser(*service_, options);
  engine::Event rest = event(" {}}</tool_call>");
  rest.format = "hermes";
  rest.marks = {{4, 16}};
  parser.feed(rest, &out_);
  parser.feed(end(engine::FinishReason::kStop), &out_);
  const auto reply = chat::join_events(out_);
  ASSERT_EQ(reply.calls.size(), 1u);
  EXPECT_EQ(reply.calls[0].name, "f");
}

// A real model's marks are tokens; the same letters as text stay text.
TEST_F(ReplyParserTest, SpelledMarksOfARealModelAreText) {
  engine_.info_.is_script = false;
  ReplyParserOptions options;
  ReplyParser parser(*service_, options);
  engine::Event spelled = event("<think>x");
  spelled.format = "hermes";
  parser.feed(spelled, &out_);
  parser.feed(end(engine::FinishReason::kStop), &out_);
  EXPECT_EQ(chat::join_events(out_).text, "<think>x");
}

TEST_F(ReplyParserTest, ACutCallIsText) {
  ReplyParserOptions options;
  options.parser.tools = chat::tools_from_json(chat::Json::parse(R"([{"name": "f"}])")).value();
  ReplyParser parser(*service_, options);
  engine::Event half = event("<tool_call>{\"name\": \"f\"");
  half.format = "hermes";
  parser.feed(half, &out_);
  parser.feed(end(engine::FinishReason::kLength), &out_);
  const auto reply = chat::join_events(out_);
  EXPECT_TRUE(reply.calls.empty());
  EXPECT_NE(reply.text.find("\"f\""), std::string::npos);
}

}  // namespace
}  // namespace tempo9::server
