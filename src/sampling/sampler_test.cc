#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace tempo9::sampling {
namespace {

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) {
    logits.push_back(static_cast<float>(std::log(p)));
  }
  return logits;
}

std::vector<uint32_t> histogram(const Params& params, SampleInput input, uint32_t n) {
  const auto n_vocab = static_cast<uint32_t>(input.logits.size());
  Sampler sampler(n_vocab, n_vocab);
  std::vector<uint32_t> counts(n_vocab, 0);
  for (uint32_t i = 0; i < n; ++i) {
    input.key.position = i;
    ++counts[static_cast<size_t>(sampler.sample(params, input))];
  }
  return counts;
}

// Chi-square of the counts against exact probabilities. The limit is the 0.999 quantile (Wilson and
// Hilferty).
void expect_distribution(const std::vector<uint32_t>& counts, std::vector<double> probabilities) {
  const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  const auto n = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0u));
  double chi_square = 0.0;
  double degrees = -1.0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = n * probabilities[i] / total;
    if (expected == 0.0) {
      EXPECT_EQ(counts[i], 0u) << "token " << i;
      continue;
    }
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    degrees += 1.0;
  }
  if (degrees > 0.0) {
    const double h = 2.0 / (9.0 * degrees);
    EXPECT_LT(chi_square, degrees * std::pow(1.0 - h + 3.09 * std::sqrt(h), 3.0));
  }
}

constexpr uint32_t kDraws = 20000;
const std::vector<double> kFour = {0.15, 0.5, 0.05, 0.3};

TEST(Sampler, TemperatureOneDrawsFromTheDistribution) {
  const auto logits = logits_of(kFour);
  expect_distribution(histogram({}, {.logits = logits, .key = {1, 0, 0}}, kDraws), kFour);
}

TEST(Sampler, ManyTokensAndAnotherTemperature) {
  std::vector<double> weights, tempered;
  for (int i = 1; i <= 300; ++i) {
    weights.push_back(1.0 / i);
    tempered.push_back(std::pow(1.0 / i, 1.0 / 1.5));
  }
  const auto logits = logits_of(weights);
  expect_distribution(
      histogram({.temperature = 1.5f}, {.logits = logits, .key = {2, 0, 0}}, 2 * kDraws), tempered);
}

TEST(Sampler, TopKKeepsTheMostLikelyAndTheLowerIdOfATie) {
  const auto logits = logits_of(kFour);
  expect_distribution(histogram({.top_k = 2}, {.logits = logits, .key = {3, 0, 0}}, kDraws),
                      {0, 0.5, 0, 0.3});
  const std::vector<float> flat(5, 0.0f);
  expect_distribution(histogram({.top_k = 2}, {.logits = flat, .key = {3, 0, 0}}, 2000),
                      {1, 1, 0, 0, 0});
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  const auto logits = logits_of(kFour);
  const auto draw_with = [&](float p) {
    return histogram({.top_p = p}, {.logits = logits, .key = {4, 0, 0}}, kDraws);
  };
  expect_distribution(draw_with(0.45f), {0, 1, 0, 0});
  expect_distribution(draw_with(0.7f), {0, 0.5, 0, 0.3});
  expect_distribution(draw_with(0.9f), {0.15, 0.5, 0, 0.3});
  expect_distribution(draw_with(0.97f), kFour);
  expect_distribution(draw_with(1e-6f), {0, 1, 0, 0});
  expect_distribution(draw_with(0.0f), {0, 1, 0, 0});
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  const auto logits = logits_of(kFour);
  expect_distribution(histogram({.min_p = 0.2f}, {.logits = logits, .key = {5, 0, 0}}, kDraws),
                      {0.15, 0.5, 0, 0.3});
  expect_distribution(histogram({.min_p = 1.0f}, {.logits = logits, .key = {5, 0, 0}}, kDraws),
                      {0, 1, 0, 0});
}

TEST(Sampler, BiasMovesAndForbids) {
  const auto logits = logits_of(kFour);
  const Params params{.logit_bias = {{2, 1.0f}, {1, -100.0f}}};
  expect_distribution(histogram(params, {.logits = logits, .key = {6, 0, 0}}, kDraws),
                      {0.15, 0, 0.05 * std::exp(1.0), 0.3});
}

// Expected values by hand from the definitions in penalties.cc.
TEST(Sampler, Penalties) {
  const std::vector<float> logits = {1.0f, -1.0f, 0.5f, 0.0f};
  const std::vector<TokenId> prompt = {0, 1}, output = {2, 2};
  const SampleInput input{.logits = logits, .prompt = prompt, .output = output, .key = {7, 0, 0}};
  const auto softmax = [](std::vector<double> x) {
    for (double& v : x) v = std::exp(v);
    return x;
  };
  expect_distribution(histogram({.repetition_penalty = 2.0f}, input, kDraws),
                      softmax({0.5, -2.0, 0.25, 0.0}));
  expect_distribution(histogram({.frequency_penalty = 0.5f}, input, kDraws),
                      softmax({1.0, -1.0, -0.5, 0.0}));
  expect_distribution(histogram({.presence_penalty = 0.5f}, input, kDraws),
                      softmax({1.0, -1.0, 0.0, 0.0}));
  Sampler sampler(4, 4);  // scratch is clean after each call
  EXPECT_EQ(sampler.sample({.temperature = 0.0f, .repetition_penalty = 4.0f}, input), 0 + 0);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f, .repetition_penalty = 1.0f}, input), 0);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f, .logit_bias = {{0, -5.0f}}}, input), 2);
}

TEST(Sampler, GreedyTiesGoToTheLowestId) {
  const std::vector<float> logits = {0.0f, 3.0f, 3.0f, 3.0f};
  Sampler sampler(4, 4);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f}, {.logits = logits}), 1);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f, .presence_penalty = 1.0f}, {.logits = logits}), 1);
}

TEST(Sampler, MaskAndPaddingAreNeverChosen) {
  const std::vector<float> logits = {0.0f, 9.0f, 1.0f, 8.0f};
  const std::vector<uint32_t> mask = {0b1101u};
  Sampler sampler(4, 3);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f}, {.logits = logits}), 1);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f}, {.logits = logits, .mask = mask}), 2);
  for (uint32_t i = 0; i < 500; ++i) {
    const TokenId id =
        sampler.sample({.temperature = 50.0f}, {.logits = logits, .mask = mask, .key = {1, 0, i}});
    EXPECT_TRUE(id == 0 || id == 2) << id;
  }
  const std::vector<uint32_t> nothing = {0u};
  EXPECT_EQ(sampler.sample({}, {.logits = logits, .mask = nothing}), -1);
}

TEST(Sampler, GivenMaximaChangeNothing) {
  constexpr uint32_t kVocab = 200, kTokens = 170;  // the last run is cut
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0f, 4.0f);
  Sampler sampler(kVocab, kTokens);
  for (uint32_t i = 0; i < 300; ++i) {
    std::vector<float> logits(kVocab), maxima((kVocab + 31) / 32, -INFINITY);
    for (float& x : logits) x = random() % 50 == 0 ? INFINITY : normal(random);
    logits[kTokens] = 1000.0f;  // padding
    for (uint32_t id = 0; id < kVocab; ++id)
      if (std::isfinite(logits[id])) maxima[id / 32] = std::max(maxima[id / 32], logits[id]);
    std::vector<uint32_t> mask(i % 2 == 0 ? 0 : maxima.size());
    for (uint32_t& word : mask) word = random() % 2 == 0 ? ~0U : static_cast<uint32_t>(random());
    const Params params{.temperature = i % 3 == 0 ? 0.0f : 1.0f,
                        .presence_penalty = i % 5 == 0 ? 0.5f : 0.0f};
    SampleInput input{.logits = logits, .mask = mask, .key = {1, 0, i}};
    const TokenId want = sampler.sample(params, input);
    input.run_maxima = maxima;
    EXPECT_EQ(sampler.sample(params, input), want) << i;
  }
}

TEST(Sampler, BrokenLogitsGiveNoToken) {
  const std::vector<float> nan(3, std::nanf(""));
  Sampler sampler(3, 3);
  EXPECT_EQ(sampler.sample({}, {.logits = nan}), -1);
  EXPECT_EQ(sampler.sample({.temperature = 0.0f}, {.logits = nan}), -1);
  const std::vector<float> mixed = {std::nanf(""), INFINITY, 1.0f};
  EXPECT_EQ(sampler.sample({.temperature = 0.0f}, {.logits = mixed}), 2);
}

TEST(Sampler, ExtremeTemperatures) {
  const std::vector<float> logits = {1.0f, 1.001f, -30.0f};
  Sampler sampler(3, 3);
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(sampler.sample({.temperature = 1e-40f}, {.logits = logits, .key = {1, 0, i}}), 1);
  }
  expect_distribution(
      histogram({.temperature = 100.0f}, {.logits = logits, .key = {8, 0, 0}}, kDraws),
      {std::exp(0.01), std::exp(0.01001), std::exp(-0.3)});
}

TEST(Sampler, TheSameKeyGivesTheSameTokenAndOtherSeedsDiffer) {
  const std::vector<float> logits(1000, 0.0f);
  Sampler sampler(1000, 1000), other(1000, 1000);
  int equal = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const TokenId id = sampler.sample({}, {.logits = logits, .key = {5, 0, i}});
    EXPECT_EQ(other.sample({}, {.logits = logits, .key = {5, 0, i}}), id);
    equal += other.sample({}, {.logits = logits, .key = {6, 0, i}}) == id ? 1 : 0;
  }
  EXPECT_LT(equal, 5);
}

}  // namespace
}  // namespace tempo9::sampling
