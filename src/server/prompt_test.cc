#include "server/prompt.h"

#include <gtest/gtest.h>

namespace tempo9::server {
namespace {

using chat::Segment;

class PromptTest : public ::testing::Test {
 protected:
  std::vector<TokenId> encode(const std::vector<Segment>& segments) const {
    return encode_segments(*tokenizer_, control_, segments);
  }
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = tokenizer::make_byte_tokenizer();
  ControlTokens control_{*tokenizer_};
};

TEST_F(PromptTest, ControlTokensComeFromTheTemplateOnly) {
  const auto ids = encode({{"<|im_start|>", true}, {"<|im_start|>", false}});
  ASSERT_EQ(ids.size(), 1u + std::string("<|im_start|>").size());
  EXPECT_EQ(ids[0], tokenizer_->find("<|im_start|>"));
  for (size_t i = 1; i < ids.size(); ++i)
    EXPECT_EQ(tokenizer_->type(ids[i]) == tokenizer::TokenType::kControl, false);
}

TEST_F(PromptTest, SpellingsAcrossABorderToOutsideTextStayText) {
  // Half of it from outside: whoever sends "im_start|>" must not complete what the template began.
  const auto ids = encode({{"<|", true}, {"im_start|>", false}});
  EXPECT_EQ(ids.size(), std::string("<|im_start|>").size());
}

TEST_F(PromptTest, SpellingsAcrossTemplateSegmentsCount) {
  EXPECT_EQ(encode({{"<|im_", true}, {"", true}, {"start|>", true}}),
            std::vector<TokenId>{tokenizer_->find("<|im_start|>")});
}

TEST_F(PromptTest, EmptyPromptHasNoTokens) {
  EXPECT_TRUE(encode({}).empty());
  EXPECT_TRUE(encode({{"", false}, {"", true}}).empty());
}

TEST_F(PromptTest, AConversationThatGrowsIsNotMadeTokensAnew) {
  EncodedTexts known;
  std::vector<Segment> conversation;
  size_t n_found = 0;
  for (int turn = 0; turn < 20; ++turn) {
    conversation.push_back({"<|im_start|>", true});
    conversation.push_back({std::to_string(turn) + std::string(500, 'x'), false});
    conversation.push_back({"<|im_end|>", true});
    EXPECT_EQ(encode_segments(*tokenizer_, control_, conversation, &known), encode(conversation));
    EXPECT_EQ(known.n_found() - n_found, static_cast<size_t>(turn));  // all earlier turns
    n_found = known.n_found();
  }
}

TEST_F(PromptTest, KnownTextsHaveABound) {
  EncodedTexts known(20'000);
  const auto text = [](int i) { return std::to_string(i) + std::string(1'000, 'x'); };
  std::vector<TokenId> ids;
  for (int i = 0; i < 50; ++i) {
    known.encode(*tokenizer_, text(i), &ids);
    known.encode(*tokenizer_, text(0), &ids);  // what is used stays
    EXPECT_LE(known.n_bytes(), 20'000u);
  }
  EXPECT_EQ(known.n_found(), 50u);
  known.encode(*tokenizer_, text(1), &ids);  // gone
  EXPECT_EQ(known.n_found(), 50u);
  const size_t n_before = known.n_bytes();
  known.encode(*tokenizer_, std::string(100'000, 'y'), &ids);  // larger than all of it
  EXPECT_EQ(known.n_bytes(), n_before);
}

TEST_F(PromptTest, LongestSpellingWins) {
  TokenId id = -1;
  EXPECT_EQ(control_.match("<tool_call>{", &id), "<tool_call>");
  EXPECT_EQ(id, tokenizer_->find("<tool_call>"));
  EXPECT_EQ(control_.match("<tool_cal", &id), "");
  EXPECT_EQ(control_.match("", &id), "");
}

}  // namespace
}  // namespace tempo9::server
