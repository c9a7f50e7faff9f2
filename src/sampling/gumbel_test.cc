#include "sampling/gumbel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tempo9::sampling {
namespace {

std::vector<Candidate> random_candidates(std::mt19937_64* random, size_t n) {
  std::normal_distribution<double> logit(0.0, 4.0);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < n; ++i) {
    candidates.push_back({static_cast<TokenId>(i), logit(*random)});
  }
  return candidates;
}

// The naive twin: noise for every candidate, no bound.
TokenId naive_draw(const NoiseKey& key, const std::vector<Candidate>& candidates) {
  Candidate best{-1, -INFINITY};
  for (const Candidate& c : candidates) {
    const Candidate noisy{c.id, c.score + gumbel_noise(key, c.id)};
    if (best.id < 0 || ranks_before(noisy, best)) {
      best = noisy;
    }
  }
  return best.id;
}

TEST(Gumbel, TheShortCutNeverChangesTheDraw) {
  std::mt19937_64 random(3);
  for (uint32_t i = 0; i < 1000; ++i) {
    const auto candidates = random_candidates(&random, 1 + random() % 300);
    const NoiseKey key{random(), i % 3, i};
    ASSERT_EQ(draw(key, candidates), naive_draw(key, candidates)) << i;
  }
}

TEST(Gumbel, OrderAndLosersDoNotMatter) {
  std::mt19937_64 random(4);
  for (uint32_t i = 0; i < 200; ++i) {
    auto candidates = random_candidates(&random, 50);
    const NoiseKey key{42, 0, i};
    const TokenId winner = draw(key, candidates);
    std::shuffle(candidates.begin(), candidates.end(), random);
    EXPECT_EQ(draw(key, candidates), winner);
    std::erase_if(candidates, [&](const Candidate& c) { return c.id != winner && c.id % 2 == 0; });
    EXPECT_EQ(draw(key, candidates), winner);
  }
}

TEST(Gumbel, SeedChoicePositionAndTokenAllCount) {
  const NoiseKey key{7, 0, 0};
  const double noise = gumbel_noise(key, 5);
  EXPECT_EQ(gumbel_noise({7, 0, 0}, 5), noise);
  EXPECT_NE(gumbel_noise({8, 0, 0}, 5), noise);
  EXPECT_NE(gumbel_noise({7 + (uint64_t{1} << 32), 0, 0}, 5), noise);
  EXPECT_NE(gumbel_noise({7, 1, 0}, 5), noise);
  EXPECT_NE(gumbel_noise({7, 0, 1}, 5), noise);
  EXPECT_NE(gumbel_noise(key, 6), noise);
  EXPECT_NE(gumbel_noise(key, 9), noise);
}

TEST(Gumbel, NoiseHasTheGumbelDistribution) {
  // Kolmogorov-Smirnov against exp(-exp(-x)); 1.95 / sqrt(n) is exceeded once in a thousand by a
  // right generator.
  std::vector<double> noise;
  for (uint32_t position = 0; position < 100; ++position) {
    for (TokenId id = 0; id < 200; ++id) {
      noise.push_back(gumbel_noise({99, 0, position}, id));
    }
  }
  std::sort(noise.begin(), noise.end());
  double distance = 0.0;
  const auto n = static_cast<double>(noise.size());
  for (size_t i = 0; i < noise.size(); ++i) {
    const double expected = std::exp(-std::exp(-noise[i]));
    distance = std::max(distance, std::fabs(expected - static_cast<double>(i) / n));
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(n));
}

}  // namespace
}  // namespace tempo9::sampling
