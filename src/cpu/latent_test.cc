// Multi-head latent attention on every table: against the interpreter in double, and that one
// against attention over the heads' own keys and values; then equal bits for every way to run it.
#include "cpu/latent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "cpu/cpu.h"
#include "cpu/test_program.h"
#include "ops/ref/interpreter.h"

namespace tempo9::cpu {
namespace {

constexpr uint32_t kTokens = 61;  // in the vocabulary

struct LatentSizes {
  uint32_t n_heads, n_nope, n_rope, n_latent, n_value;
  uint32_t key_dim() const { return n_latent + n_rope; }
  uint32_t q_dim() const { return n_nope + n_rope; }
};
constexpr LatentSizes kOdd = {5, 20, 12, 42, 23}, kWhole = {3, 64, 32, 96, 32},
                      kMany = {34, 8, 4, 12, 6};

// Embedding, one layer, head.
struct LatentToy {
  ops::Program program;
  std::vector<std::vector<uint8_t>> bytes;
  ops::MatrixId query, value;

  LatentToy(DType type, const LatentSizes& n, uint32_t width = 128) {
    bytes.reserve(16);
    const auto matrix = [&](uint32_t n_in, uint32_t n_out, DType t, uint32_t n_of_them = 1) {
      return add_random_matrix(program, bytes, t, n_in, n_out, 2.0f, n_of_them);
    };
    const auto ramp = [&](uint32_t n_values) {
      std::vector<float> values(n_values);
      for (uint32_t i = 0; i < n_values; ++i) values[i] = 0.6f + 0.05f * static_cast<float>(i % 13);
      return program.add_vector(values);
    };
    ops::Rope rope;
    for (uint32_t i = 0; i < n.n_rope / 2; ++i)
      rope.inv_freq.push_back(std::pow(100.0, -2.0 * i / n.n_rope));
    rope.magnitude = 1.1f;
    program.ropes.push_back(rope);
    program.kv_layers.push_back({1, n.key_dim(), n.n_latent});
    const auto x = program.embed(matrix(width, kTokens, DType::kF32), 1.0f);
    const auto h = program.rms_norm(x, ramp(width), 1e-5f);
    const auto q = program.linear(h, {matrix(width, n.n_heads * n.q_dim(), type)});
    const auto latent = program.linear(h, {matrix(width, n.key_dim(), type)});
    query = matrix(n.n_nope, n.n_latent, type, n.n_heads);
    value = matrix(n.n_latent, n.n_value, type, n.n_heads);
    const auto absorbed = program.heads(n.n_heads, n.key_dim());
    program.head_linear({.in = q,
                         .in_stride = n.q_dim(),
                         .matrix = query,
                         .out = absorbed,
                         .out_stride = n.key_dim()});
    program.latent_append({.q = q,
                           .latent = latent,
                           .norm = ramp(n.n_latent),
                           .norm_eps = 1e-6f,
                           .kv_layer = 0,
                           .n_heads = n.n_heads,
                           .rope = 0,
                           .out = absorbed});
    const auto attended = program.attention(
        {.qkv = absorbed, .kv_layer = 0, .n_heads = n.n_heads, .scale = 0.1f, .window = 0});
    const auto out = program.heads(n.n_heads, n.n_value);
    program.head_linear({.in = attended,
                         .in_stride = n.n_latent,
                         .matrix = value,
                         .out = out,
                         .out_stride = n.n_value});
    program.add_linear(x, out, matrix(n.n_heads * n.n_value, width, type));
    program.head(program.rms_norm(program.select_rows(x), ramp(width), 1e-5f),
                 matrix(width, kTokens, DType::kF32));
  }
};

std::vector<int32_t> tokens_from(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % kTokens);
  return tokens;
}

// All positions' logits, rows in slices.
std::vector<float> logits_of(const ops::Program& program, const KernelTable& table,
                             uint32_t n_threads, ops::KvType kv_type,
                             std::span<const int32_t> tokens, uint32_t slice) {
  auto backend = make_backend(program, {.n_threads = n_threads,
                                        .max_rows = 64,
                                        .max_logit_rows = 64,
                                        .max_pages = 32,
                                        .kv_type = kv_type,
                                        .isa = table.name});
  EXPECT_TRUE(backend) << backend.error().message;
  std::vector<ops::PageId> pages(tokens.size() / 32 + 1);
  std::iota(pages.rbegin(), pages.rend(), 3u);
  return run_in_slices(**backend, tokens, pages, slice);
}

double relative_error(const std::vector<float>& got, const std::vector<std::vector<double>>& want) {
  double squares = 0, errors = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double w = want[i / kTokens][i % kTokens], error = w - static_cast<double>(got[i]);
    squares += w * w;
    errors += error * error;
  }
  EXPECT_GT(squares / static_cast<double>(got.size()), 0.1);
  return std::sqrt(errors / squares);
}

class LatentTest : public testing::TestWithParam<const KernelTable*> {};

TEST_P(LatentTest, AgreesWithTheInterpreter) {
  const auto tokens = tokens_from(70, 1);
  for (const DType type : {DType::kF32, DType::kF16}) {
    const LatentToy toy(type, kOdd);
    const auto want = ops::interpret(toy.program, tokens);
    const auto got = logits_of(toy.program, *GetParam(), 2, ops::KvType::kF32, tokens, 64);
    EXPECT_LT(relative_error(got, want), 1e-5) << dtype_info(type).name;
  }
  // Half a step of 127 in each activation: about 0.6 % a product, of which there are five, and two
  // of them stand before an exponential.
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kIQ4_NL}) {
    const LatentToy toy(type, kWhole);
    const auto want = ops::interpret(toy.program, tokens);
    const auto got = logits_of(toy.program, *GetParam(), 2, ops::KvType::kF32, tokens, 64);
    EXPECT_LT(relative_error(got, want), 0.03) << dtype_info(type).name;
  }
}

TEST_P(LatentTest, EveryKvTypeStaysWithinItsError) {
  const auto tokens = tokens_from(70, 2);
  const LatentToy toy(DType::kF32, kOdd);
  const auto want = ops::interpret(toy.program, tokens);
  for (const auto& [kv_type, bound] :
       {std::pair(ops::KvType::kI16, 1e-3), {ops::KvType::kF16, 1e-3}, {ops::KvType::kQ8, 2e-2}}) {
    const auto got = logits_of(toy.program, *GetParam(), 1, kv_type, tokens, 64);
    EXPECT_LT(relative_error(got, want), bound);
  }
}

TEST_P(LatentTest, BitsDoNotDependOnSlicesThreadsOrTable) {
  const auto tokens = tokens_from(150, 3);
  for (const DType type : {DType::kF16, DType::kQ8_0}) {
    const LatentToy toy(type, type == DType::kF16 ? kOdd : kWhole);
    for (const auto kv_type : {ops::KvType::kI16, ops::KvType::kQ8, ops::KvType::kF32}) {
      const auto want = logits_of(toy.program, *GetParam(), 1, kv_type, tokens, 64);
      for (const uint32_t slice : {1u, 33u})
        ASSERT_EQ(logits_of(toy.program, *GetParam(), 3, kv_type, tokens, slice), want) << slice;
      ASSERT_EQ(logits_of(toy.program, **select_kernels("scalar"), 2, kv_type, tokens, 17), want);
    }
  }
}

// More heads than one call takes, several cells of keys, all shared by threads.
TEST_P(LatentTest, ManyHeadsAndALongContextGiveTheSameBits) {
  const auto tokens = tokens_from(530, 4);
  const LatentToy toy(DType::kF16, kMany, 64);
  const auto few = std::span(tokens).first(40);
  const auto right = ops::interpret(toy.program, few);
  EXPECT_LT(
      relative_error(logits_of(toy.program, *GetParam(), 1, ops::KvType::kF32, few, 64), right),
      1e-5);
  for (const auto kv_type : {ops::KvType::kI16, ops::KvType::kF32}) {
    const auto want = logits_of(toy.program, *GetParam(), 1, kv_type, tokens, 64);
    EXPECT_EQ(logits_of(toy.program, *GetParam(), 5, kv_type, tokens, 50), want);
  }
}

TEST(LatentMeaning, IsAttentionOverTheHeadsOwnKeysAndValues) {
  // From the definition: keys [W_h^T c | r], values V_h c, with c the normed latent.
  const LatentSizes n = kOdd;
  const uint32_t width = 64;
  const LatentToy toy(DType::kF32, n, width);
  const auto tokens = tokens_from(6, 5);
  const auto got = ops::interpret_states(toy.program, tokens);
  const auto weight = [&](size_t index, size_t i) {
    float value;
    std::memcpy(&value, &toy.bytes[index][4 * i], 4);
    return static_cast<double>(value);
  };
  const auto norm = [&](std::vector<double> x, double eps) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] *= factor * static_cast<double>(0.6f + 0.05f * static_cast<float>(i % 13));
    return x;
  };
  const auto times = [&](size_t index, size_t first_row, size_t n_rows, const double* x,
                         size_t n_in) {
    std::vector<double> y(n_rows);
    for (size_t i = 0; i < n_rows * n_in; ++i)
      y[i / n_in] += weight(index, first_row * n_in + i) * x[i % n_in];
    return y;
  };
  const auto rotate = [&](double* x, double position) {
    for (size_t i = 0; i < n.n_rope / 2; ++i) {
      const double angle = position * std::pow(100.0, -2.0 * static_cast<double>(i) / n.n_rope);
      const double c = 1.1f * std::cos(angle), s = 1.1f * std::sin(angle);
      const double a = x[2 * i], b = x[2 * i + 1];
      x[2 * i] = a * c - b * s;
      x[2 * i + 1] = a * s + b * c;
    }
  };
  // Matrices as they were made: embedding, q, latent, query, value, output, head.
  std::vector<std::vector<double>> xs, qs, latents;
  for (size_t t = 0; t < tokens.size(); ++t) {
    std::vector<double> x(width);
    for (size_t i = 0; i < width; ++i) x[i] = weight(0, static_cast<size_t>(tokens[t]) * width + i);
    const auto h = norm(x, 1e-5f);
    qs.push_back(times(1, 0, n.n_heads * n.q_dim(), h.data(), width));
    auto latent = times(2, 0, n.key_dim(), h.data(), width);
    auto c = norm({latent.begin(), latent.begin() + n.n_latent}, 1e-6f);
    c.insert(c.end(), latent.begin() + n.n_latent, latent.end());
    rotate(&c[n.n_latent], static_cast<double>(t));
    xs.push_back(x);
    latents.push_back(c);
  }
  const size_t last = tokens.size() - 1;
  std::vector<double> out;
  for (size_t head = 0; head < n.n_heads; ++head) {
    double* q = &qs[last][head * n.q_dim()];
    rotate(q + n.n_nope, static_cast<double>(last));
    std::vector<double> p, mixed(n.n_value);
    double sum = 0;
    for (const auto& c : latents) {
      double score = 0;
      for (size_t i = 0; i < n.n_nope; ++i) {  // key i: column i of the head's [n_latent][n_nope]
        double key = 0;
        for (size_t j = 0; j < n.n_latent; ++j)
          key += weight(3, (head * n.n_latent + j) * n.n_nope + i) * c[j];
        score += q[i] * key;
      }
      for (size_t i = 0; i < n.n_rope; ++i) score += q[n.n_nope + i] * c[n.n_latent + i];
      p.push_back(std::exp(score * static_cast<double>(0.1f)));
      sum += p.back();
    }
    for (size_t t = 0; t < p.size(); ++t) {
      const auto v = times(4, head * n.n_value, n.n_value, latents[t].data(), n.n_latent);
      for (size_t i = 0; i < v.size(); ++i) mixed[i] += p[t] / sum * v[i];
    }
    out.insert(out.end(), mixed.begin(), mixed.end());
  }
  auto y = times(5, 0, width, out.data(), out.size());
  for (size_t i = 0; i < width; ++i) y[i] += xs[last][i];
  const auto want = norm(y, 1e-5f);
  for (size_t i = 0; i < width; ++i) EXPECT_NEAR(got[last][i], want[i], 1e-9) << i;
}

INSTANTIATE_TEST_SUITE_P(Tables, LatentTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
