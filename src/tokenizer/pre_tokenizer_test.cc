#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tempo9::tokenizer {
namespace {

std::vector<std::string> pieces(std::string_view pre, std::string_view text) {
  std::vector<size_t> ends;
  find_pre_tokenizer(pre)->split(text, &ends);
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (const size_t end : ends) {
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return pieces;
}

using Strings = std::vector<std::string>;

// Expected pieces: the expression of each rule in Hugging Face's pre_tokenizers.Split.
TEST(PreTokenizer, Examples) {
  EXPECT_EQ(pieces("gpt-2", "I'm 12 !?\n\n x"), (Strings{"I", "'m", " 12", " !?", "\n\n", " x"}));
  EXPECT_EQ(pieces("smollm", "a 12"), (Strings{"a", " ", "1", "2"}));
  EXPECT_EQ(pieces("qwen2", "a\n\n b 12!\n"), (Strings{"a", "\n\n", " b", " ", "1", "2", "!\n"}));
  EXPECT_EQ(pieces("llama-bpe", "(a) 12345"), (Strings{"(a", ")", " ", "123", "45"}));
  EXPECT_EQ(pieces("gpt-4o", "HTTPServer's/\n"), (Strings{"HTTPServer's", "/\n"}));
  EXPECT_EQ(pieces("tekken", "aBc'd"), (Strings{"a", "Bc", "'d"}));
  EXPECT_EQ(pieces("deepseek-v3", "中文a1234.b"), (Strings{"中文", "a", "123", "4", ".b"}));
  EXPECT_EQ(pieces("default", "a, 1234"), (Strings{"a", ",", " ", "123", "4"}));
}

TEST(PreTokenizer, PiecesAreTheTextWhateverItIs) {
  std::mt19937 random(7);
  for (const std::string_view pre : pre_tokenizer_names()) {
    EXPECT_TRUE(pieces(pre, "").empty());
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (auto n = random() % 40; n > 0; --n) {
        constexpr std::string_view kSome = " \n\r\ta1.'sLé\xCC\x81中\xFF";
        text.push_back(random() % 3 != 0 ? kSome[random() % kSome.size()]
                                         : static_cast<char>(random() % 256));
      }
      const Strings found = pieces(pre, text);
      for (const std::string& piece : found) ASSERT_FALSE(piece.empty()) << pre;
    }
  }
}

TEST(PreTokenizer, UnknownNames) {
  EXPECT_EQ(find_pre_tokenizer("no-such-rule"), nullptr);
  EXPECT_EQ(find_pre_tokenizer(""), nullptr);
}

}  // namespace
}  // namespace tempo9::tokenizer
