#include "sampling/params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace tempo9::sampling {
namespace {

TEST(Params, DefaultsAndBordersAreValid) {
  EXPECT_TRUE(validate({}));
  EXPECT_TRUE(validate({.temperature = 0.0f}));
  EXPECT_TRUE(validate({.temperature = 100.0f, .top_k = -1, .min_p = 1.0f}));
  EXPECT_TRUE(validate({.frequency_penalty = -2.0f, .presence_penalty = 2.0f}));
  EXPECT_TRUE(validate({.logit_bias = {{3, -100.0f}, {4, 100.0f}}}));
}

TEST(Params, EachFieldOutOfRangeIsNamed) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::pair<Params, const char*> cases[] = {
      {{.temperature = -0.1f}, "temperature: found -0.1"},
      {{.temperature = kNan}, "temperature: found nan"},
      {{.temperature = 100.5f}, "temperature: found 100.5"},
      {{.top_k = -2}, "top_k: found -2"},
      {{.top_p = -0.5f}, "top_p: found -0.5"},
      {{.top_p = 1.01f}, "top_p: found 1.01"},
      {{.top_p = kNan}, "top_p"},
      {{.min_p = -0.5f}, "min_p: found -0.5"},
      {{.min_p = kNan}, "min_p"},
      {{.repetition_penalty = 0.0f}, "repetition_penalty: found 0"},
      {{.repetition_penalty = kInf}, "repetition_penalty: found inf"},
      {{.frequency_penalty = 2.5f}, "frequency_penalty: found 2.5"},
      {{.presence_penalty = -kInf}, "presence_penalty: found -inf"},
      {{.logit_bias = {{7, 101.0f}}}, "logit_bias of token 7: found 101"},
  };
  for (const auto& [params, text] : cases) {
    const Status status = validate(params);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(status.error().message.find(text), std::string::npos) << status.error().message;
  }
}

}  // namespace
}  // namespace tempo9::sampling
