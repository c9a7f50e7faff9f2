#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tempo9::sampling {
namespace {

// Expected values: torch.log_softmax in float64.
TEST(Logprobs, AreTheLogSoftmax) {
  const std::vector<float> logits = {1.0f, 2.0f, 3.0f, 4.0f};
  const Logprobs result = logprobs(logits, 1, 3, 4);
  EXPECT_FLOAT_EQ(result.chosen, -2.44018969856119f);
  ASSERT_EQ(result.top.size(), 3u);
  EXPECT_EQ(result.top[0].first, 3);
  EXPECT_FLOAT_EQ(result.top[0].second, -0.44018969856119f);
  EXPECT_EQ(result.top[1].first, 2);
  EXPECT_FLOAT_EQ(result.top[1].second, -1.44018969856119f);
  EXPECT_EQ(result.top[2].first, 1);
}

TEST(Logprobs, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits = {3e38f, 3e38f};
  const Logprobs result = logprobs(logits, 0, 2, 2);
  EXPECT_FLOAT_EQ(result.chosen, -0.693147180559945f);
  EXPECT_EQ(result.top[0].first, 0);  // a tie: the lower id first
  EXPECT_EQ(result.top[1].first, 1);
}

TEST(Logprobs, ImpossibleTokensGetTheFloorAndNotInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {0.0f, -inf, std::nanf(""), -3e38f};
  for (TokenId id = 1; id < 4; ++id) {
    const Logprobs result = logprobs(logits, id, 4, 4);
    EXPECT_EQ(result.chosen, kLogprobFloor);
    for (const auto& [top_id, value] : result.top) {
      EXPECT_TRUE(std::isfinite(value)) << top_id;
    }
  }
  EXPECT_EQ(logprobs(logits, 0, 0, 4).chosen, 0.0f);
}

TEST(Logprobs, PaddingCountsInTheSumButIsNeverNamed) {
  const std::vector<float> logits = {0.0f, 0.0f, 5.0f, 0.0f};
  const Logprobs result = logprobs(logits, 0, 4, 2);
  ASSERT_EQ(result.top.size(), 2u);
  EXPECT_EQ(result.top[0].first, 0);
  EXPECT_EQ(result.top[1].first, 1);
  EXPECT_FLOAT_EQ(result.chosen, -5.02001291f);  // -log(3 + e^5)
}

}  // namespace
}  // namespace tempo9::sampling
