#include "tokenizer/merges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tempo9::tokenizer {
namespace {

using Rules = std::map<std::pair<TokenId, TokenId>, Merge>;

MergeTable table_of(const Rules& rules) {
  MergeTable table;
  table.reserve(rules.size());
  for (const auto& [pair, merge] : rules) table.add(pair.first, pair.second, merge);
  return table;
}

// The definition: again and again the lowest rank, the leftmost of it.
std::vector<TokenId> naive(const Rules& rules, std::vector<TokenId> symbols) {
  for (;;) {
    size_t best = symbols.size();
    Merge found{UINT32_MAX, -1};
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto it = rules.find({symbols[i], symbols[i + 1]});
      if (it != rules.end() && it->second.rank < found.rank) {
        found = it->second;
        best = i;
      }
    }
    if (found.merged < 0) return symbols;
    symbols[best] = found.merged;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

// Random merges over a small alphabet, their ranks in random order: a merge may open one of a lower
// rank.
Rules random_rules(std::mt19937* random, TokenId n_letters, TokenId n_tokens) {
  Rules rules;
  std::vector<uint32_t> ranks(static_cast<size_t>(n_tokens - n_letters));
  for (uint32_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
  std::shuffle(ranks.begin(), ranks.end(), *random);
  for (TokenId made = n_letters; made < n_tokens; ++made) {
    std::uniform_int_distribution<TokenId> any(0, made - 1);
    rules.insert(
        {{any(*random), any(*random)}, {ranks[static_cast<size_t>(made - n_letters)], made}});
  }
  return rules;
}

TEST(Merger, EqualsTheDefinitionOnRandomMerges) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const TokenId n_letters = 1 + static_cast<TokenId>(seed % 5);
    const Rules rules = random_rules(&random, n_letters, n_letters + 40);
    const MergeTable table = table_of(rules);
    Merger merger(table);
    for (const size_t n : {0u, 1u, 2u, 3u, 17u, 47u, 48u, 49u, 50u, 130u, 400u}) {
      std::vector<TokenId> symbols(n);
      for (TokenId& s : symbols)
        s = std::uniform_int_distribution<TokenId>(0, n_letters - 1)(random);
      std::vector<TokenId> merged = symbols;
      merger.merge(&merged);
      ASSERT_EQ(merged, naive(rules, symbols)) << n << " symbols";
    }
  }
}

TEST(Merger, LongRunsTakeLinearTime) {
  Rules rules;
  for (TokenId i = 0; i < 12; ++i) rules.insert({{i, i}, {static_cast<uint32_t>(i), i + 1}});
  const MergeTable table = table_of(rules);
  std::vector<TokenId> symbols(1000001, 0);
  Merger(table).merge(&symbols);
  EXPECT_EQ(symbols.front(), 12);
  EXPECT_EQ(symbols.back(), 0);
  EXPECT_EQ(symbols.size(), 244u + 3);  // 1000001 = 244 * 4096 + 512 + 64 + 1
}

TEST(MergeTable, FirstOfAPairStays) {
  MergeTable table;
  table.reserve(2);
  table.add(1, 2, {0, 3});
  table.add(1, 2, {1, 4});
  ASSERT_NE(table.find(1, 2), nullptr);
  EXPECT_EQ(table.find(1, 2)->merged, 3);
  EXPECT_EQ(table.find(2, 1), nullptr);
}

}  // namespace
}  // namespace tempo9::tokenizer
