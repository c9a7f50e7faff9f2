#include <gtest/gtest.h>

#include "tokenizer/testing/encode.h"

namespace tempo9::tokenizer {
namespace {

TEST(ByteTokenizer, BytesAreTheirOwnIds) {
  const auto bytes = make_byte_tokenizer();
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::vector<TokenId> ids = encode(*bytes, all);
  ASSERT_EQ(ids.size(), 256u);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(ids[static_cast<size_t>(i)], i);
  EXPECT_EQ(bytes->decode(ids, false), all);
}

TEST(ByteTokenizer, ControlTokens) {
  const auto bytes = make_byte_tokenizer();
  EXPECT_EQ(bytes->size(), 262);
  const std::string_view text = "<|im_start|><|im_end|><think></think><tool_call></tool_call>";
  EXPECT_EQ(encode(*bytes, text, {.parse_control = true}),
            (std::vector<TokenId>{256, 257, 258, 259, 260, 261}));
  EXPECT_EQ(encode(*bytes, text).size(), text.size());
  EXPECT_TRUE(bytes->ends_generation(257));
  EXPECT_FALSE(bytes->ends_generation(256));
  EXPECT_EQ(bytes->token_bytes(256, true), "<|im_start|>");
  EXPECT_EQ(bytes->token_bytes(256, false), "");
  EXPECT_EQ(bytes->find("<think>"), 258);
  EXPECT_EQ(bytes->type(258), TokenType::kControl);
}

VocabData with_specials(std::string pre) {
  VocabData vocab;
  vocab.model = "gpt2";
  vocab.pre = std::move(pre);
  vocab.tokens = {"a", "b", "c", "ab", "bc", "abc", "<c>", "<u>", "ø", "Ġ", "cab"};
  vocab.types = {1, 1, 1, 1, 1, 1, 3, 4, 4, 1, 3};
  vocab.merges = {"a b", "b c", "c ab"};
  vocab.bos = 0;
  vocab.eos = 6;
  return vocab;
}

TEST(ByteLevelBpe, PiecesThatAreTokensAreTakenWholeOnlyWhereTheRuleSaysSo) {
  EXPECT_EQ(encode(**make_tokenizer(with_specials("gpt-2")), "abc"), (std::vector<TokenId>{3, 2}));
  EXPECT_EQ(encode(**make_tokenizer(with_specials("llama-bpe")), "abc"), (std::vector<TokenId>{5}));
}

TEST(ByteLevelBpe, MergesNeverMakeControlTokens) {
  for (const char* pre : {"gpt-2", "llama-bpe"}) {
    const auto made = make_tokenizer(with_specials(pre));
    EXPECT_EQ(encode(**made, "cab"), (std::vector<TokenId>{2, 3})) << pre;
    EXPECT_EQ(encode(**made, "cab", {.parse_control = true}), (std::vector<TokenId>{10})) << pre;
  }
}

TEST(ByteLevelBpe, SpecialsAreLiteral) {
  const auto made = make_tokenizer(with_specials("gpt-2"));
  EXPECT_EQ(encode(**made, "aøb"), (std::vector<TokenId>{0, 8, 1}));
  EXPECT_EQ((*made)->token_bytes(8, false), "ø");
  EXPECT_EQ((*made)->token_bytes(9, false), " ");
  EXPECT_EQ(encode(**made, "a<u>b<c>"),
            (std::vector<TokenId>{0, 7, 1, 2}));  // '<' and '>' have no token here
  EXPECT_EQ(encode(**made, "a<c>b", {.parse_control = true}), (std::vector<TokenId>{0, 6, 1}));
}

TEST(ByteLevelBpe, AddsBosAndEosAsTheFileSays) {
  VocabData vocab = with_specials("gpt-2");
  EXPECT_EQ(encode(**make_tokenizer(vocab), "b", {.add_special = true}), (std::vector<TokenId>{1}));
  vocab.add_bos = vocab.add_eos = true;
  EXPECT_EQ(encode(**make_tokenizer(vocab), "b", {.add_special = true}),
            (std::vector<TokenId>{0, 1, 6}));
  EXPECT_EQ(encode(**make_tokenizer(vocab), "", {.add_special = true}),
            (std::vector<TokenId>{0, 6}));
  EXPECT_EQ(encode(**make_tokenizer(vocab), "b"), (std::vector<TokenId>{1}));
}

TEST(ByteLevelBpe, SameWordsGiveTheSameIdsHoweverOften) {
  const auto made = make_tokenizer(with_specials("qwen2"));
  std::string text;
  for (int i = 0; i < 5000; ++i) text += i % 3 == 0 ? "abc" : " ab";
  std::vector<TokenId> once;
  for (int i = 0; i < 5000; ++i) {
    // The first "abc" of each three runs on from the word before.
    if (i % 3 == 0)
      once.insert(once.end(), {3, 2});
    else
      once.insert(once.end(), {9, 3});
  }
  EXPECT_EQ(encode(**made, text), once);
}

}  // namespace
}  // namespace tempo9::tokenizer
