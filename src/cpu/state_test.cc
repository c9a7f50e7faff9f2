// Layers with a state: against their recurrences in double, and the same bits on every table and
// for every way to cut rows and columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "cpu/cpu.h"

namespace tempo9::cpu {
namespace {

class Values {
 public:
  explicit Values(uint32_t seed) : random_(seed) {}
  std::vector<float> normal(size_t n, float size = 1.0f) {
    std::normal_distribution<float> values(0.0f, size);
    return draw(n, values);
  }
  std::vector<float> between(size_t n, float low, float high) {
    std::uniform_real_distribution<float> values(low, high);
    return draw(n, values);
  }

 private:
  template <typename Distribution>
  std::vector<float> draw(size_t n, Distribution& values) {
    std::vector<float> out(n);
    for (float& x : out) x = values(random_);
    return out;
  }
  std::mt19937 random_;
};

constexpr uint32_t kRows = 23;
struct Shape {
  uint32_t d_in, n_columns;
};
// Tiles that are full, cut off, one alone and one left over; odd sums.
constexpr Shape kShapes[] = {{128, 128}, {16, 16}, {24, 40}, {7, 9}, {65, 48}, {1, 1}};

double state_at(const std::vector<float>& state, Shape shape, uint32_t i, uint32_t column) {
  return static_cast<double>(
      state[(size_t{column / kLanes} * shape.d_in + i) * kLanes + column % kLanes]);
}

// A kernel's rows with what it reads and writes; run() calls it for rows [begin, end) and columns.
struct Delta {
  Shape shape;
  std::vector<float> q, k, v, qk, decay, beta, state, out;
  size_t stride;

  explicit Delta(Shape s) : shape(s), stride(std::max(s.d_in, s.n_columns) + 3) {
    Values values(s.d_in * 100 + s.n_columns);
    const float size = 1.0f / std::sqrt(static_cast<float>(s.d_in));
    q = values.normal(kRows * stride, size);
    k = values.normal(kRows * stride, size);
    v = values.normal(kRows * stride);
    for (uint32_t r = 0; r < kRows; ++r) {
      double dot = 0;
      for (uint32_t i = 0; i < s.d_in; ++i)
        dot += static_cast<double>(q[r * stride + i]) * static_cast<double>(k[r * stride + i]);
      qk.push_back(static_cast<float>(dot));
    }
    decay = values.between(kRows, 0.6f, 1.0f);
    beta = values.between(kRows, 0.0f, 1.0f);
    state = values.normal(state_floats(s.d_in, s.n_columns));
    out.resize(kRows * stride);
  }
  void run(const KernelTable& kernels, uint32_t begin, uint32_t end, uint32_t column_begin,
           uint32_t column_end, const float* in, float* to) {
    DeltaRuleArgs args;
    args.q = &q[begin * stride];
    args.k = &k[begin * stride];
    args.v = &v[begin * stride];
    args.qkv_stride = args.out_stride = stride;
    args.qk = &qk[begin];
    args.decay = &decay[begin];
    args.beta = &beta[begin];
    args.gate_stride = 1;
    args.out = &out[begin * stride];
    args.state_in = in;
    args.state_out = to;
    args.key_dim = shape.d_in;
    args.value_dim = shape.n_columns;
    args.column_begin = column_begin;
    args.column_end = column_end;
    args.n_rows = end - begin;
    kernels.delta_rule(args);
  }
  // Greatest difference from the recurrence in double; afterwards state is what it leaves.
  double error(const std::vector<float>& before, const std::vector<float>& after) const {
    const uint32_t n = shape.d_in, m = shape.n_columns;
    double worst = 0;
    for (uint32_t c = 0; c < m; ++c) {
      std::vector<double> s(n);
      for (uint32_t i = 0; i < n; ++i) s[i] = before.empty() ? 0 : state_at(before, shape, i, c);
      for (uint32_t r = 0; r < kRows; ++r) {
        double kept = 0, y = 0;
        for (uint32_t i = 0; i < n; ++i) {
          s[i] *= static_cast<double>(decay[r]);
          kept += s[i] * static_cast<double>(k[r * stride + i]);
        }
        const double d =
            static_cast<double>(beta[r]) * (static_cast<double>(v[r * stride + c]) - kept);
        for (uint32_t i = 0; i < n; ++i) {
          s[i] += static_cast<double>(k[r * stride + i]) * d;
          y += s[i] * static_cast<double>(q[r * stride + i]);
        }
        worst = std::max(worst, std::abs(y - static_cast<double>(out[r * stride + c])));
      }
      for (uint32_t i = 0; i < n; ++i)
        worst = std::max(worst, std::abs(s[i] - state_at(after, shape, i, c)));
    }
    return worst;
  }
};

struct Scan {
  Shape shape;
  std::vector<float> x, b, c, step, decay, state, out;
  size_t stride;

  explicit Scan(Shape s) : shape(s), stride(std::max(s.d_in, s.n_columns) + 3) {
    Values values(s.d_in * 100 + s.n_columns + 1);
    x = values.normal(kRows * stride);
    b = values.normal(kRows * stride);
    c = values.normal(kRows * stride, 1.0f / std::sqrt(static_cast<float>(s.d_in)));
    step = values.between(kRows, 0.0f, 0.5f);
    decay = values.between(kRows, 0.6f, 1.0f);
    state = values.normal(state_floats(s.d_in, s.n_columns));
    out.resize(kRows * stride);
  }
  void run(const KernelTable& kernels, uint32_t begin, uint32_t end, uint32_t column_begin,
           uint32_t column_end, const float* in, float* to) {
    ScanArgs args;
    args.x = &x[begin * stride];
    args.b = &b[begin * stride];
    args.c = &c[begin * stride];
    args.xbc_stride = args.out_stride = stride;
    args.step = &step[begin];
    args.decay = &decay[begin];
    args.gate_stride = 1;
    args.d = 0.75f;
    args.out = &out[begin * stride];
    args.state_in = in;
    args.state_out = to;
    args.state_dim = shape.d_in;
    args.head_dim = shape.n_columns;
    args.column_begin = column_begin;
    args.column_end = column_end;
    args.n_rows = end - begin;
    kernels.selective_scan(args);
  }
  double error(const std::vector<float>& before, const std::vector<float>& after) const {
    const uint32_t n = shape.d_in, m = shape.n_columns;
    double worst = 0;
    for (uint32_t column = 0; column < m; ++column) {
      std::vector<double> s(n);
      for (uint32_t i = 0; i < n; ++i)
        s[i] = before.empty() ? 0 : state_at(before, shape, i, column);
      for (uint32_t r = 0; r < kRows; ++r) {
        const auto in = static_cast<double>(x[r * stride + column]);
        double y = 0.75 * in;
        for (uint32_t i = 0; i < n; ++i) {
          s[i] = static_cast<double>(decay[r]) * s[i] +
                 static_cast<double>(step[r]) * in * static_cast<double>(b[r * stride + i]);
          y += s[i] * static_cast<double>(c[r * stride + i]);
        }
        worst = std::max(worst, std::abs(y - static_cast<double>(out[r * stride + column])));
      }
      for (uint32_t i = 0; i < n; ++i)
        worst = std::max(worst, std::abs(s[i] - state_at(after, shape, i, column)));
    }
    return worst;
  }
};

class StateTest : public testing::TestWithParam<const KernelTable*> {
 protected:
  const KernelTable& kernels() const { return *GetParam(); }
  const KernelTable& scalar() const { return **select_kernels("scalar"); }

  // Whole, then cut in every way that callers cut, must give equal bits; all within bound of the
  // recurrence in double.
  template <typename Layer>
  void check(double bound) {
    for (const Shape shape : kShapes) {
      const Layer layer(shape);
      const uint32_t m = shape.n_columns;
      Layer whole = layer;
      whole.run(kernels(), 0, kRows, 0, m, whole.state.data(), whole.state.data());
      EXPECT_LE(whole.error(layer.state, whole.state), bound) << shape.d_in << " x " << m;

      Layer other_table = layer;
      other_table.run(scalar(), 0, kRows, 0, m, other_table.state.data(), other_table.state.data());
      EXPECT_EQ(other_table.out, whole.out) << shape.d_in << " x " << m;
      EXPECT_EQ(other_table.state, whole.state);

      for (uint32_t cut = 1; cut < kRows; ++cut) {  // in place, then into another slot
        Layer parts = layer;
        std::vector<float> to(parts.state.size(), NAN);
        parts.run(kernels(), 0, cut, 0, m, parts.state.data(), parts.state.data());
        parts.run(kernels(), cut, kRows, 0, m, parts.state.data(), to.data());
        EXPECT_EQ(parts.out, whole.out) << shape.d_in << " x " << m << " cut at " << cut;
        EXPECT_EQ(to, whole.state);
      }
      Layer rows = layer;
      for (uint32_t r = 0; r < kRows; ++r)
        rows.run(kernels(), r, r + 1, 0, m, rows.state.data(), rows.state.data());
      EXPECT_EQ(rows.out, whole.out);
      EXPECT_EQ(rows.state, whole.state);

      Layer tiles = layer;
      for (uint32_t c = 0; c < m; c += kLanes)
        tiles.run(kernels(), 0, kRows, c, std::min(c + kLanes, m), tiles.state.data(),
                  tiles.state.data());
      EXPECT_EQ(tiles.out, whole.out);
      EXPECT_EQ(tiles.state, whole.state);

      Layer fresh = layer, zeros = layer;
      std::vector<float> left(layer.state.size(), NAN), nothing(layer.state.size());
      fresh.run(kernels(), 0, kRows, 0, m, nullptr, left.data());
      zeros.run(kernels(), 0, kRows, 0, m, nothing.data(), nothing.data());
      EXPECT_EQ(fresh.out, zeros.out);
      EXPECT_EQ(left, nothing);
      EXPECT_LE(fresh.error({}, left), bound);
    }
  }
};

TEST_P(StateTest, DeltaRuleIsTheRecurrenceHoweverItIsCut) { check<Delta>(2e-5); }
TEST_P(StateTest, SelectiveScanIsTheRecurrenceHoweverItIsCut) { check<Scan>(2e-5); }

double softplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

TEST_P(StateTest, ScanGatesFollowTheirDefinition) {
  std::vector<float> dt, bias, a;
  for (float x = -90.0f; x <= 90.0f; x += 0.043f) {
    dt.push_back(x), bias.push_back(0.25f), a.push_back(-0.5f);
  }
  const auto n = static_cast<uint32_t>(dt.size());
  std::vector<float> step(n), decay(n), other_step(n), other_decay(n);
  kernels().scan_gates({dt.data(), bias.data(), a.data(), n, step.data(), decay.data()});
  scalar().scan_gates({dt.data(), bias.data(), a.data(), n, other_step.data(), other_decay.data()});
  EXPECT_EQ(step, other_step);
  EXPECT_EQ(decay, other_decay);
  for (uint32_t i = 0; i < n; ++i) {
    const double want = softplus(static_cast<double>(dt[i]) + 0.25);
    // Threads flush what is below 1.2e-38; above, what is small is right to the last bits, too.
    EXPECT_NEAR(static_cast<double>(step[i]), want, 5e-7 * want + 3e-38) << dt[i];
    const double kept = std::exp(-0.5 * want);
    EXPECT_NEAR(static_cast<double>(decay[i]), kept, 4e-7 * kept * (1 + want) + 2e-38) << dt[i];
  }
}

TEST_P(StateTest, DeltaGatesFollowTheirDefinition) {
  for (const uint32_t key_dim : {5u, 16u, 40u, 128u}) {
    for (const bool interleaved : {false, true}) {
      constexpr uint32_t kKeyHeads = 3, kRatio = 7, kHeads = kKeyHeads * kRatio;
      Values values(key_dim);
      std::vector<float> q = values.normal(kKeyHeads * key_dim, 2.0f);
      std::vector<float> k = values.normal(kKeyHeads * key_dim, 1e-3f);
      const std::vector<float> both = values.normal(2 * kHeads, 4.0f);
      const std::vector<float> a = values.between(kHeads, -8.0f, -0.01f);
      const std::vector<float> bias = values.normal(kHeads);
      std::vector<float> qk(kKeyHeads), decay(kHeads), beta(kHeads);
      const std::vector<float> q_before = q, k_before = k;
      DeltaGatesArgs args;
      args.n_key_heads = kKeyHeads;
      args.key_dim = key_dim;
      args.eps = 1e-6f;
      args.q_scale = 0.25f;
      args.beta = both.data();
      args.alpha = both.data() + (interleaved ? kRatio : kHeads);
      args.n_value_heads = kHeads;
      args.n_run = kRatio;
      args.run_stride = interleaved ? 2 * kRatio : kRatio;
      args.a = a.data();
      args.dt_bias = bias.data();
      args.q = q.data();
      args.k = k.data();
      args.qk = qk.data();
      args.decay = decay.data();
      args.beta_out = beta.data();
      kernels().delta_gates(args);
      for (uint32_t h = 0; h < kKeyHeads; ++h) {
        double qq = 1e-6, kk = 1e-6, dot = 0;
        for (uint32_t i = h * key_dim; i < (h + 1) * key_dim; ++i) {
          qq += static_cast<double>(q_before[i]) * static_cast<double>(q_before[i]);
          kk += static_cast<double>(k_before[i]) * static_cast<double>(k_before[i]);
          dot += static_cast<double>(q_before[i]) * static_cast<double>(k_before[i]);
        }
        for (uint32_t i = h * key_dim; i < (h + 1) * key_dim; ++i) {
          EXPECT_NEAR(static_cast<double>(q[i]),
                      0.25 * static_cast<double>(q_before[i]) / std::sqrt(qq), 3e-7);
          EXPECT_NEAR(static_cast<double>(k[i]), static_cast<double>(k_before[i]) / std::sqrt(kk),
                      1e-6);
        }
        EXPECT_NEAR(static_cast<double>(qk[h]), 0.25 * dot / std::sqrt(qq * kk), 1e-6);
      }
      for (uint32_t h = 0; h < kHeads; ++h) {
        const uint32_t at = interleaved ? h / kRatio * 2 * kRatio + h % kRatio : h;
        const auto raw = static_cast<double>(args.alpha[at]);
        const double g = static_cast<double>(a[h]) * softplus(raw + static_cast<double>(bias[h]));
        EXPECT_NEAR(static_cast<double>(decay[h]), std::exp(g), 1e-6);
        EXPECT_NEAR(static_cast<double>(beta[h]),
                    1 / (1 + std::exp(-static_cast<double>(args.beta[at]))), 3e-7);
      }
      std::vector<float> other_q = q_before, other_k = k_before, other_qk(kKeyHeads);
      std::vector<float> other_decay(kHeads), other_beta(kHeads);
      args.q = other_q.data();
      args.k = other_k.data();
      args.qk = other_qk.data();
      args.decay = other_decay.data();
      args.beta_out = other_beta.data();
      scalar().delta_gates(args);
      EXPECT_TRUE(other_q == q && other_k == k && other_qk == qk);
      EXPECT_TRUE(other_decay == decay && other_beta == beta);
    }
  }
}

TEST_P(StateTest, GatedNormGatesBeforeOrAfter) {
  for (const uint32_t n : {1u, 15u, 16u, 40u, 128u}) {
    for (const bool gate_first : {false, true}) {
      Values values(n);
      const std::vector<float> x = values.normal(n, 2.0f), gate = values.normal(n, 3.0f);
      const std::vector<float> w = values.normal(n);
      std::vector<float> out(n), other = x;
      kernels().gated_rms_norm(x.data(), gate.data(), w.data(), n, 1e-5f, gate_first, out.data());
      scalar().gated_rms_norm(other.data(), gate.data(), w.data(), n, 1e-5f, gate_first,
                              other.data());
      EXPECT_EQ(out, other);
      std::vector<double> silu(n), y(n);
      double squares = 0;
      for (uint32_t i = 0; i < n; ++i) {
        silu[i] = static_cast<double>(gate[i]) / (1 + std::exp(-static_cast<double>(gate[i])));
        y[i] = static_cast<double>(x[i]) * (gate_first ? silu[i] : 1);
        squares += y[i] * y[i];
      }
      for (uint32_t i = 0; i < n; ++i) {
        const double want = y[i] / std::sqrt(squares / n + 1e-5) * static_cast<double>(w[i]) *
                            (gate_first ? 1 : silu[i]);
        EXPECT_NEAR(static_cast<double>(out[i]), want, 3e-6 * (1 + std::abs(want)));
      }
    }
  }
}

// What is no number shows in its own column, from its row on, and in no other.
TEST_P(StateTest, WhatIsNoNumberStaysNone) {
  Delta delta({24, 40});
  delta.v[5 * delta.stride + 20] = NAN;
  delta.run(kernels(), 0, kRows, 0, 40, delta.state.data(), delta.state.data());
  Scan scan({24, 40});
  scan.x[5 * scan.stride + 20] = NAN;
  scan.run(kernels(), 0, kRows, 0, 40, scan.state.data(), scan.state.data());
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t c = 0; c < 40; ++c) {
      EXPECT_EQ(std::isnan(delta.out[r * delta.stride + c]), c == 20 && r >= 5);
      EXPECT_EQ(std::isnan(scan.out[r * scan.stride + c]), c == 20 && r >= 5);
    }
  }
  const float nan = NAN, one = 1.0f, minus = -1.0f;
  float step = 0, decay = 0;
  kernels().scan_gates({&nan, &one, &minus, 1, &step, &decay});
  EXPECT_TRUE(std::isnan(step) && std::isnan(decay));
}

INSTANTIATE_TEST_SUITE_P(Tables, StateTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
