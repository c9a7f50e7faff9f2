#include <gtest/gtest.h>

#include "tokenizer/testing/encode.h"
#include "tokenizer/testing/sentencepiece_vocab.h"

namespace tempo9::tokenizer {
namespace {

constexpr TokenId kFirst = 259;

TEST(SentencePiece, SpacePrefix) {
  VocabData vocab = sentencepiece_vocab({"▁", "a", "▁a", "b"});
  auto made = make_tokenizer(vocab);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(encode(**made, "a"), (std::vector<TokenId>{kFirst + 2}));
  EXPECT_EQ(encode(**made, " a"), (std::vector<TokenId>{kFirst, kFirst + 2}));
  EXPECT_EQ(encode(**made, "a", {.add_special = true}), (std::vector<TokenId>{1, kFirst + 2}));
  EXPECT_EQ(encode(**made, ""), (std::vector<TokenId>{}));
  EXPECT_EQ((*made)->decode(encode(**made, " a"), false), " a");
  EXPECT_EQ(encode(**made, "a</s>a", {.parse_control = true}),
            (std::vector<TokenId>{kFirst + 2, 2, kFirst + 2}));
  vocab.add_space_prefix = false;
  made = make_tokenizer(vocab);
  EXPECT_EQ(encode(**made, "a"), (std::vector<TokenId>{kFirst + 1}));
  EXPECT_EQ((*made)->decode(encode(**made, " a"), false), " a");
}

TEST(SentencePiece, HigherScoreFirst) {
  VocabData vocab = sentencepiece_vocab({"a", "b", "c", "ab", "bc"});
  vocab.add_space_prefix = false;
  EXPECT_EQ(encode(**make_tokenizer(vocab), "abc"), (std::vector<TokenId>{kFirst + 3, kFirst + 2}));
  vocab.scores[kFirst + 4] = 0;
  EXPECT_EQ(encode(**make_tokenizer(vocab), "abc"), (std::vector<TokenId>{kFirst, kFirst + 4}));
}

TEST(SentencePiece, WhatIsNoTokenGoesAsBytes) {
  VocabData vocab = sentencepiece_vocab({"a"});
  vocab.add_space_prefix = false;
  const auto made = make_tokenizer(vocab);
  EXPECT_EQ(encode(**made, "aé\xFF"), (std::vector<TokenId>{kFirst, 3 + 0xC3, 3 + 0xA9, 3 + 0xFF}));
  EXPECT_EQ(encode(**made, std::string_view("\0", 1)), (std::vector<TokenId>{3}));
  EXPECT_EQ((*made)->decode(encode(**made, "aé\xFF"), false), "aé\xFF");
}

TEST(SentencePiece, WithoutByteTokensTheUnknownOneStandsIn) {
  VocabData vocab;
  vocab.model = "llama";
  vocab.tokens = {"<unk>", "a"};
  vocab.types = {2, 1};
  vocab.scores = {0, -1};
  vocab.unk = 0;
  vocab.add_space_prefix = false;
  EXPECT_EQ(encode(**make_tokenizer(vocab), "ab"), (std::vector<TokenId>{1, 0}));
}

TEST(SentencePiece, UserDefinedRunsOfSpaces) {
  VocabData vocab = sentencepiece_vocab({"▁", "a", "\n", "  ", "   ", "\n\n"});
  for (const TokenId id : {3, 4, 5}) vocab.types[static_cast<size_t>(kFirst + id)] = 4;
  for (const TokenId id : {3, 4, 5}) vocab.scores[static_cast<size_t>(kFirst + id)] = -1000;
  vocab.add_space_prefix = false;
  const auto made = make_tokenizer(vocab);
  EXPECT_EQ(encode(**made, "a   a"), (std::vector<TokenId>{kFirst + 1, kFirst + 4, kFirst + 1}));
  EXPECT_EQ(encode(**made, "    "), (std::vector<TokenId>{kFirst + 4, kFirst}));
  EXPECT_EQ(encode(**made, "\n\n\n"), (std::vector<TokenId>{kFirst + 5, kFirst + 2}));
  EXPECT_EQ((*made)->token_bytes(kFirst + 4, false), "   ");
}

TEST(SentencePiece, PlainTextNeverGivesControlTokens) {
  VocabData vocab = sentencepiece_vocab({"<", "/", "s", ">", "</", "s>"});
  vocab.add_space_prefix = false;
  EXPECT_EQ(encode(**make_tokenizer(vocab), "</s>"),
            (std::vector<TokenId>{kFirst + 4, kFirst + 5}));
}

TEST(Gemma4, MergesAreListed) {
  VocabData vocab = sentencepiece_vocab({"▁", "a", "b", "ab", "▁a", "\n", "\n\n"});
  vocab.model = "gemma4";
  vocab.scores.clear();
  vocab.merges = {"▁ a", "a b", "\n \n"};
  const auto made = make_tokenizer(vocab);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(encode(**made, "ab ab\n\n"),
            (std::vector<TokenId>{kFirst + 3, kFirst + 4, kFirst + 2, kFirst + 6}));
}

}  // namespace
}  // namespace tempo9::tokenizer
