#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {
namespace {

using testing::HasSubstr;

VocabData tiny() {
  VocabData vocab;
  vocab.model = "gpt2";
  vocab.pre = "gpt-2";
  vocab.tokens = {"a", "b", "ab", "<end>"};
  vocab.types = {1, 1, 1, 3};
  vocab.merges = {"a b"};
  vocab.eos = 3;
  return vocab;
}

Error error_of(VocabData vocab) {
  auto made = make_tokenizer(std::move(vocab));
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

TEST(Registry, MakesWhatItKnows) {
  const auto made = make_tokenizer(tiny());
  ASSERT_TRUE(made) << made.error().message;
  std::vector<TokenId> ids;
  (*made)->encode("abba<end>", {.parse_control = true}, &ids);
  EXPECT_EQ(ids, (std::vector<TokenId>{2, 1, 0, 3}));
  EXPECT_EQ((*made)->decode(ids, false), "abba");
}

TEST(Registry, UnknownNamesAreRefusedWithTheKnownOnes) {
  VocabData vocab = tiny();
  vocab.model = "rwkv";
  Error error = error_of(vocab);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  for (const char* word : {"rwkv", "gpt2", "llama", "gemma4"})
    EXPECT_THAT(error.message, HasSubstr(word));
  vocab = tiny();
  vocab.pre = "qwen9";
  error = error_of(vocab);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  for (const char* word : {"qwen9", "qwen2", "tekken"}) EXPECT_THAT(error.message, HasSubstr(word));
}

TEST(Registry, ListsThatDoNotFitAreCorrupt) {
  VocabData vocab = tiny();
  vocab.types.pop_back();
  EXPECT_EQ(error_of(vocab).code, ErrorCode::kCorrupt);
  vocab = tiny();
  vocab.scores = {1, 2};
  EXPECT_EQ(error_of(vocab).code, ErrorCode::kCorrupt);
  vocab = tiny();
  vocab.tokens.clear();
  EXPECT_EQ(error_of(vocab).code, ErrorCode::kCorrupt);
  vocab = tiny();
  vocab.eos = 4;
  EXPECT_THAT(error_of(vocab).message, HasSubstr("eos"));
  vocab = tiny();
  vocab.bos = -2;
  EXPECT_EQ(error_of(vocab).code, ErrorCode::kCorrupt);
  for (const char* merge : {"ab", "a", "", " ", "a  b", "a c", "b a", "a b c"}) {
    vocab = tiny();
    vocab.merges.emplace_back(merge);
    const Error error = error_of(vocab);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << merge;
    EXPECT_THAT(error.message, HasSubstr("merges[1]"));
  }
}

TEST(Registry, SentencePieceNeedsScores) {
  VocabData vocab = tiny();
  vocab.model = "llama";
  EXPECT_THAT(error_of(vocab).message, HasSubstr("scores"));
  vocab.scores = {0, NAN, 0, 0};
  EXPECT_THAT(error_of(vocab).message, HasSubstr("scores[1]"));
}

}  // namespace
}  // namespace tempo9::tokenizer
