// Two layers of attention over the same keys and values, with what else such families have (Gemma
// 4): values that are normalised, columns of a second embedding, a scale of the residual stream.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/cpu.h"
#include "cpu/test_program.h"
#include "ops/ref/interpreter.h"

namespace tempo9::cpu {
namespace {

constexpr uint32_t kSharedVocab = 53;

struct SharedKv {
  ops::Program program;
  std::vector<std::vector<uint8_t>> bytes;

  explicit SharedKv(DType type) {
    constexpr uint32_t kWidth = 96, kHeads = 4, kKvHeads = 2, kDim = 32, kColumns = 32;
    bytes.reserve(16);
    const auto matrix = [&](uint32_t n_in, uint32_t n_out) {
      return add_random_matrix(program, bytes, type, n_in, n_out);
    };
    const auto vector = [&](uint32_t n, float first) {
      std::vector<float> values(n);
      for (uint32_t i = 0; i < n; ++i) values[i] = first + 0.02f * static_cast<float>(i % 9);
      return program.add_vector(values);
    };
    program.kv_layers.push_back({kKvHeads, kDim});
    program.ropes.push_back({.inv_freq = {1.0, 0.1, 0.0, 0.0}, .neox = true});

    const auto x = program.embed(matrix(kWidth, kSharedVocab), 9.0f);
    // Each of the two runs of columns has the same norm.
    const auto inputs = program.embed(matrix(2 * kColumns, kSharedVocab), 4.0f);
    program.add_rms_norm(inputs, program.linear(x, {matrix(kWidth, 2 * kColumns)}),
                         vector(kColumns, 0.6f), 1e-5f);
    for (uint32_t layer = 0; layer < 2; ++layer) {
      const auto h = program.rms_norm(x, vector(kWidth, 0.9f), 1e-5f);
      std::vector<ops::MatrixId> weights = {matrix(kWidth, kHeads * kDim)};
      if (layer == 0) weights.insert(weights.end(), 2, matrix(kWidth, kKvHeads * kDim));
      const auto qkv = program.linear(h, weights);
      program.rope_append({.qkv = qkv,
                           .kv_layer = 0,
                           .n_heads = kHeads,
                           .q_norm = vector(kDim, 0.5f),
                           .k_norm = layer == 0 ? vector(kDim, 0.7f) : ops::VectorId{},
                           .norm_eps = 1e-5f,
                           .rope = 0,
                           .v_norm = layer == 0 ? vector(kDim, 1.0f) : ops::VectorId{},
                           .append = layer == 0});
      const auto attended = program.attention({.qkv = qkv,
                                               .kv_layer = 0,
                                               .n_heads = kHeads,
                                               .scale = 1.0f,
                                               .window = layer == 0 ? 20u : 0u});
      program.add_linear(x, attended, matrix(kHeads * kDim, kWidth));
      const auto gated =
          program.gated_activation(program.linear(x, {matrix(kWidth, kColumns)}), inputs,
                                   layer * kColumns, ops::Activation::kGeluTanh);
      program.add_linear(x, gated, matrix(kColumns, kWidth));
      program.scale(x, layer == 0 ? 0.4f : 1.7f);
    }
    program.head(program.rms_norm(program.select_rows(x), vector(kWidth, 1.0f), 1e-5f),
                 matrix(kWidth, kSharedVocab));
  }
};

std::vector<int32_t> shared_tokens(size_t n) {
  std::vector<int32_t> tokens(n);
  for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<int32_t>(i * i % kSharedVocab);
  return tokens;
}

class SharedKvTest : public testing::TestWithParam<const KernelTable*> {
 protected:
  static std::vector<float> run(const ops::Program& program, const KernelTable& table,
                                uint32_t n_threads, const std::vector<int32_t>& tokens,
                                uint32_t slice) {
    auto backend = make_backend(program, {.n_threads = n_threads,
                                          .max_rows = 128,
                                          .max_logit_rows = 128,
                                          .max_pages = 4,
                                          .kv_type = ops::KvType::kF32,
                                          .isa = table.name});
    EXPECT_TRUE(backend) << backend.error().message;
    const std::vector<ops::PageId> pages{2, 0, 3, 1};
    return run_in_slices(**backend, tokens, pages, slice);
  }
};

TEST_P(SharedKvTest, AgreesWithTheInterpreter) {
  const auto tokens = shared_tokens(70);
  for (const DType type : {DType::kF32, DType::kQ8_0}) {
    const SharedKv toy(type);
    const auto want = ops::interpret(toy.program, tokens);
    const auto got = run(toy.program, *GetParam(), 2, tokens, 128);
    ASSERT_EQ(got.size(), want.size() * kSharedVocab);
    double squares = 0, errors = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double w = want[i / kSharedVocab][i % kSharedVocab];
      squares += w * w;
      errors += (w - static_cast<double>(got[i])) * (w - static_cast<double>(got[i]));
    }
    EXPECT_LT(std::sqrt(errors / squares), type == DType::kF32 ? 1e-5 : 0.03)
        << dtype_info(type).name;
  }
}

TEST_P(SharedKvTest, BitsDoNotDependOnSlicesThreadsOrTable) {
  const auto tokens = shared_tokens(70);
  const SharedKv toy(DType::kQ8_0);
  const auto want = run(toy.program, *GetParam(), 1, tokens, 128);
  for (const uint32_t slice : {1u, 33u})
    EXPECT_EQ(run(toy.program, *GetParam(), 2, tokens, slice), want);
  EXPECT_EQ(run(toy.program, **select_kernels("scalar"), 2, tokens, 128), want);
}

INSTANTIATE_TEST_SUITE_P(Tables, SharedKvTest, testing::ValuesIn(available_tables()),
                         [](const auto& table) { return std::string(table.param->name); });

// Two attentions read it: memory for one, until the longer of their windows has passed.
TEST(SharedKvPages, AreKeptOnceAndAsLongAsSomeLayerReadsThem) {
  const SharedKv toy(DType::kF32);
  const auto classes = kv_page_classes(toy.program, ops::KvType::kF32);
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes[0].window, 0u);
  EXPECT_EQ(classes[0].bytes, 2u * 2 * 32 * 32 * 4);  // keys and values, 2 heads of 32, 32 tokens
}

}  // namespace
}  // namespace tempo9::cpu
