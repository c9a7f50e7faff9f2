#include "engine/pool.h"

#include <gtest/gtest.h>

#include <limits>

namespace tempo9::engine {
namespace {

// Three tokens of width 2.
const std::vector<float> kStates = {1, 2, /**/ 3, 5, /**/ 5, 11};

std::vector<float> pooled_in(Pooling pooling, std::vector<uint32_t> slices) {
  Pool pool(pooling);
  uint32_t done = 0;
  for (const uint32_t n : slices) {
    pool.add(done, n, std::span(kStates).subspan(2 * done, 2 * n));
    done += n;
  }
  return pool.result().value();
}

TEST(Pool, MeanFirstAndLastForEveryCut) {
  for (const std::vector<uint32_t>& slices :
       {std::vector<uint32_t>{3}, {1, 2}, {2, 1}, {1, 1, 1}}) {
    EXPECT_EQ(pooled_in(Pooling::kMean, slices), (std::vector<float>{3, 6}));
    EXPECT_EQ(pooled_in(Pooling::kCls, slices), (std::vector<float>{1, 2}));
    EXPECT_EQ(pooled_in(Pooling::kLast, slices), (std::vector<float>{5, 11}));
  }
}

TEST(Pool, WhatIsReadAgainCountsOnce) {
  Pool pool(Pooling::kMean);
  pool.add(0, 2, std::span(kStates).first(4));
  pool.add(0, 1, std::span(kStates).first(2));  // after preemption, in other slices
  pool.add(1, 2, std::span(kStates).last(4));
  EXPECT_EQ(pool.result().value(), (std::vector<float>{3, 6}));
}

TEST(Pool, LastTakesWhatTheCacheLeavesToCompute) {
  Pool pool(Pooling::kLast);
  pool.add(2, 1, std::span(kStates).last(2));
  EXPECT_EQ(pool.result().value(), (std::vector<float>{5, 11}));
}

TEST(Pool, NoNumberIsAnError) {
  Pool pool(Pooling::kMean);
  const std::vector<float> state = {1, std::numeric_limits<float>::quiet_NaN()};
  pool.add(0, 1, state);
  EXPECT_FALSE(pool.result());
}

}  // namespace
}  // namespace tempo9::engine
