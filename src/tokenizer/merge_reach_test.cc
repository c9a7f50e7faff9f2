#include "tokenizer/merge_reach.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tempo9::tokenizer {
namespace {

TEST(MergeReach, SaysYesWhereverATokenLiesAcross) {
  std::mt19937 random(3);
  const auto letters = [&](size_t n) {
    std::string s(n, 'a');
    for (char& c : s) c = static_cast<char>('a' + random() % 6);
    return s;
  };
  std::vector<std::string> tokens;
  MergeReach reach;
  for (int i = 0; i < 30; ++i) {
    tokens.push_back(letters(1 + random() % 5));
    reach.add(tokens.back());
  }
  size_t n_borders = 0, n_cuts = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string text = letters(40);
    for (size_t i = 1; i < text.size(); ++i) {
      bool across = false;
      for (const std::string& token : tokens) {
        for (size_t at = i > token.size() ? i - token.size() : 0; at < i; ++at)
          across |= at + token.size() > i && text.compare(at, token.size(), token) == 0;
      }
      ++n_borders;
      n_cuts += reach.crosses(text, i) ? 0 : 1;
      ASSERT_TRUE(!across || reach.crosses(text, i)) << text << " at " << i;
    }
  }
  EXPECT_GT(n_cuts, n_borders / 5);  // or it would be of no use
}

TEST(MergeReach, KnowsTheEndsOfTheText) {
  MergeReach reach;
  reach.add("abc");
  EXPECT_TRUE(reach.crosses("abc", 1));
  EXPECT_TRUE(reach.crosses("abc", 2));
  EXPECT_FALSE(reach.crosses("ab", 1));
  EXPECT_FALSE(reach.crosses("bc", 1));
  EXPECT_FALSE(reach.crosses("cab", 1));
}

}  // namespace
}  // namespace tempo9::tokenizer
