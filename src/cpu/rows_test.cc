// Ops on one row: against libm in double, and the same bits on every table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "cpu/cpu.h"
#include "cpu/rope_table.h"

namespace tempo9::cpu {
namespace {

std::vector<float> normal_values(size_t n, float size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, size);
  std::vector<float> out(n);
  for (float& x : out) x = normal(random);
  return out;
}

class RowsTest : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& kernels() const { return *GetParam(); }
  const KernelTable& scalar() const { return **select_kernels("scalar"); }
};

// A row that is not finite shows in all that is computed from it, and nowhere else.
TEST_P(RowsTest, WhatIsNoNumberStaysNone) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  for (const float broken : {nan, -nan, infinity, -infinity}) {
    for (const size_t at : {size_t{0}, size_t{15}, size_t{47}, size_t{95}}) {
      std::vector<float> x = normal_values(96, 1.0f, 4);
      x[at] = broken;
      QuantBlock blocks[3];
      kernels().quantize_row(x.data(), 96, blocks);
      for (const QuantBlock& block : blocks) {
        EXPECT_TRUE(std::ranges::all_of(block.q, [](int8_t q) { return q == 0; }));
        EXPECT_TRUE(std::isnan(block.scale) && std::isnan(block.sum));
      }
    }
  }
  const std::vector<float> x(20, nan), ones(20, 1.0f);
  std::vector<float> silu(20), gelu(20), swiglu(20), swiglu_up(20), capped = x;
  kernels().silu_mul(x.data(), ones.data(), 20, silu.data());
  kernels().gelu_mul(x.data(), ones.data(), 20, gelu.data());
  kernels().clamped_swiglu(x.data(), ones.data(), 20, swiglu.data());
  kernels().clamped_swiglu(ones.data(), x.data(), 20, swiglu_up.data());
  kernels().soft_cap(capped.data(), 20, 5.0f);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(std::isnan(silu[i]) && std::isnan(gelu[i]) && std::isnan(capped[i]));
    EXPECT_TRUE(std::isnan(swiglu[i]) && std::isnan(swiglu_up[i]));
  }
}

TEST_P(RowsTest, RunMaximaAreOfWhatIsFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float odd[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};
  for (const uint32_t n : {1u, 15u, 16u, 17u, 32u, 33u, 64u, 1000u}) {
    std::vector<float> x = normal_values(n, 3.0f, n);
    for (uint32_t i = 0; i < n; i += 3) x[i] = odd[i / 3 % 5];
    if (n > 64) std::fill_n(x.begin() + 32, 32, std::numeric_limits<float>::quiet_NaN());
    const uint32_t n_runs = (n + 31) / 32;
    std::vector<float> want(n_runs, -kInfinity), got(n_runs + 1, 9.0f);
    for (uint32_t i = 0; i < n; ++i)
      if (std::isfinite(x[i])) want[i / 32] = std::max(want[i / 32], x[i]);
    want.push_back(9.0f);
    kernels().run_maxima(x.data(), n, got.data());
    EXPECT_EQ(got, want) << n;
  }
}

TEST_P(RowsTest, LayerNormAndGeluAreTheirDefinitions) {
  for (const uint32_t n : {1u, 7u, 16u, 33u, 200u}) {
    std::vector<float> x = normal_values(n, 3.0f, n), w = normal_values(n, 1.0f, 5),
                       bias = normal_values(n, 1.0f, 6), normed(n + 1, 9.0f), gelu(n + 1, 9.0f);
    for (float& value : x) value += 2.0f;
    x[0] = -9.0f;
    kernels().layer_norm(x.data(), w.data(), bias.data(), n, 1e-3f, normed.data());
    kernels().gelu(x.data(), n, gelu.data());
    double mean = 0, variance = 0;
    for (const float value : x) mean += static_cast<double>(value) / n;
    for (const float value : x)
      variance += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean) / n;
    for (uint32_t i = 0; i < n; ++i) {
      const auto value = static_cast<double>(x[i]);
      const double z = (value - mean) / std::sqrt(variance + 1e-3);
      EXPECT_NEAR(static_cast<double>(normed[i]),
                  z * static_cast<double>(w[i]) + static_cast<double>(bias[i]), 1e-5);
      EXPECT_NEAR(static_cast<double>(gelu[i]), value * std::erfc(-value / std::sqrt(2.0)) / 2,
                  4e-7 * (1 + std::abs(value)));
    }
    EXPECT_TRUE(normed[n] == 9.0f && gelu[n] == 9.0f) << "written beyond the end";
    std::vector<float> theirs(n), theirs_gelu(n);
    scalar().layer_norm(x.data(), w.data(), bias.data(), n, 1e-3f, theirs.data());
    scalar().gelu(x.data(), n, theirs_gelu.data());
    EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), normed.begin()));
    EXPECT_TRUE(std::equal(theirs_gelu.begin(), theirs_gelu.end(), gelu.begin()));
  }
}

TEST_P(RowsTest, QuantizedRowsAreNearAndTheirSumsRight) {
  for (const float size : {1e-6f, 1.0f, 3e4f}) {
    std::vector<float> x = normal_values(96, size, 3);
    x[40] *= 1000.0f;  // an outlier: the other blocks must keep their precision
    for (size_t i = 64; i < 96; ++i) x[i] = 0.0f;
    QuantBlock blocks[3];
    kernels().quantize_row(x.data(), 96, blocks);
    for (size_t b = 0; b < 3; ++b) {
      const QuantBlock& block = blocks[b];
      int32_t total = 0, half = 0;
      float largest = 0;
      for (size_t i = 0; i < 32; ++i) {
        const double step = static_cast<double>(block.scale);
        EXPECT_NEAR(block.q[i] * step, static_cast<double>(x[32 * b + i]), 0.5001 * step);
        EXPECT_GE(block.q[i], -127);
        total += block.q[i];
        if (i < 16) half += block.q[i];
        largest = std::max(largest, std::abs(x[32 * b + i]));
      }
      EXPECT_FLOAT_EQ(largest, 127 * block.scale);
      EXPECT_EQ(block.minus_16_sum, -16 * total);
      EXPECT_EQ(block.minus_32_half, -32 * half);
      EXPECT_EQ(block.sum, static_cast<float>(total) * block.scale);
    }
    EXPECT_LT(blocks[0].scale,
              blocks[1].scale / 64);  // the block without the outlier has the smaller step
  }
}

TEST_P(RowsTest, AZeroRowQuantizesToZeros) {
  const std::vector<float> x(32, 0.0f);
  QuantBlock block;
  kernels().quantize_row(x.data(), 32, &block);
  for (const int8_t v : block.q) EXPECT_EQ(v, 0);
  EXPECT_EQ(block.scale, 0.0f);
}

TEST_P(RowsTest, RmsNormIsRightForEveryLength) {
  for (const uint32_t n : {1u, 15u, 16u, 17u, 64u, 100u, 896u}) {
    const std::vector<float> x = normal_values(n, 3.0f, n), w = normal_values(n, 1.0f, n + 1);
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
    std::vector<float> out(n, 1.0f), other(n, 1.0f);
    kernels().rms_norm(x.data(), w.data(), n, 1e-6f, out.data(), true);
    for (uint32_t i = 0; i < n; ++i) {
      const double want = 1.0 + static_cast<double>(x[i]) * static_cast<double>(w[i]) /
                                    std::sqrt(squares / n + 1e-6);
      EXPECT_NEAR(static_cast<double>(out[i]), want, 3e-6 * (1 + std::abs(want)));
    }
    scalar().rms_norm(x.data(), w.data(), n, 1e-6f, other.data(), true);
    EXPECT_EQ(out, other);
  }
}

TEST_P(RowsTest, ActivationsFollowTheirDefinition) {
  std::vector<float> gate, up;
  for (float x = -100.0f; x <= 100.0f; x += 0.037f) gate.push_back(x), up.push_back(1.0f);
  for (float x = -0.3f; x <= 0.3f; x += 0.0007f) gate.push_back(x), up.push_back(1.0f);
  const auto n = static_cast<uint32_t>(gate.size());
  std::vector<float> silu(n), gelu(n), other(n);
  kernels().silu_mul(gate.data(), up.data(), n, silu.data());
  kernels().gelu_mul(gate.data(), up.data(), n, gelu.data());
  for (uint32_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(gate[i]);
    EXPECT_NEAR(static_cast<double>(silu[i]), x / (1 + std::exp(-x)), 4e-7 * (1 + std::abs(x)))
        << x;
    const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    EXPECT_NEAR(static_cast<double>(gelu[i]), 0.5 * x * (1 + std::tanh(inner)),
                4e-7 * (1 + std::abs(x)))
        << x;
  }
  scalar().silu_mul(gate.data(), up.data(), n, other.data());
  EXPECT_EQ(silu, other);
  scalar().gelu_mul(gate.data(), up.data(), n, other.data());
  EXPECT_EQ(gelu, other);
}

TEST_P(RowsTest, SoftCapIsTanh) {
  std::vector<float> x = normal_values(77, 60.0f, 4), other = x;
  const std::vector<float> before = x;
  kernels().soft_cap(x.data(), 77, 30.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(x[i]), 30.0 * std::tanh(static_cast<double>(before[i]) / 30.0),
                2e-5);
  }
  scalar().soft_cap(other.data(), 77, 30.0f);
  EXPECT_EQ(x, other);
}

// Pairs that fill no vector, one, and more than one.
TEST_P(RowsTest, RopeRotatesPairs) {
  for (const uint32_t n_pairs : {3u, 16u, 40u}) {
    ops::Rope rope;
    for (uint32_t i = 0; i < n_pairs; ++i)
      rope.inv_freq.push_back(std::pow(1e4, -1.0 * i / n_pairs));
    for (const bool neox : {false, true}) {
      for (const uint32_t position : {0u, 1u, 1000u, 131071u}) {
        std::vector<float> cosine(n_pairs), sine(n_pairs);
        rope_angles(rope, position, cosine.data(), sine.data());
        std::vector<float> head = normal_values(2 * n_pairs + 2, 1.0f, 9), before = head;
        std::vector<float> other = head;
        kernels().rope(head.data(), cosine.data(), sine.data(), n_pairs, neox);
        scalar().rope(other.data(), cosine.data(), sine.data(), n_pairs, neox);
        EXPECT_EQ(head, other);
        for (size_t i = 0; i < n_pairs; ++i) {
          const size_t a = neox ? i : 2 * i, b = neox ? i + n_pairs : 2 * i + 1;
          const double angle = position * rope.inv_freq[i];
          const auto x = static_cast<double>(before[a]), y = static_cast<double>(before[b]);
          EXPECT_NEAR(static_cast<double>(head[a]), x * std::cos(angle) - y * std::sin(angle),
                      5e-7);
          EXPECT_NEAR(static_cast<double>(head[b]), x * std::sin(angle) + y * std::cos(angle),
                      5e-7);
        }
        EXPECT_EQ(head[2 * n_pairs], before[2 * n_pairs]);  // beyond the rotated part
        EXPECT_EQ(head[2 * n_pairs + 1], before[2 * n_pairs + 1]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, RowsTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

TEST(Dispatch, ForcesATableByNameAndRefusesOthers) {
  for (const KernelTable* table : available_tables())
    EXPECT_EQ(*select_kernels(table->name), table);
  EXPECT_EQ(*select_kernels(""), available_tables().front());
  const auto refused = select_kernels("sse9");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("sse9"), std::string::npos);
  EXPECT_NE(refused.error().message.find("scalar"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::cpu
