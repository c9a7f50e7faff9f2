// Work of a small program, counted by hand.
#include "engine/bench_work.h"

#include <gtest/gtest.h>

namespace tempo9::engine {
namespace {

// A layer with a window of 64 keys and one that sees all; two query heads of 4 share a kv head.
struct Small {
  explicit Small(bool tied) {
    const auto matrix = [&](uint32_t n_in, uint32_t n_out) {
      data.emplace_back(size_t{n_in} * n_out * 4);
      ops::Matrix m;
      m.name = "m";
      m.n_in = n_in;
      m.n_out = n_out;
      m.data = data.back();
      return program.add_matrix(m);
    };
    data.reserve(16);
    const ops::MatrixId table = matrix(8, 5);
    program.n_vocab = 5;
    program.kv_layers = {{1, 4}, {1, 4}};
    program.ropes.push_back({.inv_freq = {1.0, 0.1}});
    const ops::TensorId x = program.embed(table, 1.0f);
    for (const uint32_t layer : {0u, 1u}) {
      const ops::TensorId qkv = program.linear(x, {matrix(8, 8), matrix(8, 4), matrix(8, 4)});
      const ops::TensorId mixed = program.attention({.qkv = qkv,
                                                     .kv_layer = layer,
                                                     .n_heads = 2,
                                                     .scale = 0.5f,
                                                     .window = layer == 0 ? 64u : 0u});
      program.add_linear(x, mixed, matrix(8, 8));
    }
    program.head(program.select_rows(x), tied ? table : matrix(8, 5));
  }
  ops::Program program;
  std::vector<std::vector<uint8_t>> data;
};

constexpr uint64_t kLayerWeights = 8 * (8 + 4 + 4) + 8 * 8;

TEST(BenchWork, MultiplyAddsOfWeights) {
  const Small small(false);
  EXPECT_EQ(weight_multiply_adds(small.program, 1, 1), 2 * kLayerWeights + 8 * 5);
  EXPECT_EQ(weight_multiply_adds(small.program, 512, 1), 512 * 2 * kLayerWeights + 8 * 5);
  EXPECT_EQ(weight_multiply_adds(small.program, 7, 0), 7 * 2 * kLayerWeights);
}

TEST(BenchWork, KvThatIsRead) {
  const Small small(false);
  constexpr uint64_t kKeyAndValue = 2 * 4;  // one kv head of 4
  for (const uint32_t n_keys : {1u, 63u, 64u, 65u, 1000u}) {
    const uint64_t seen = n_keys + std::min(n_keys, 64u);
    EXPECT_EQ(kv_read_bytes(small.program, ops::KvType::kF16, n_keys), seen * kKeyAndValue * 2);
    EXPECT_EQ(kv_read_bytes(small.program, ops::KvType::kF32, n_keys), seen * kKeyAndValue * 4);
    EXPECT_EQ(kv_read_bytes(small.program, ops::KvType::kI16, n_keys),
              seen * (kKeyAndValue * 2 + 2 * 4));
    EXPECT_EQ(kv_read_bytes(small.program, ops::KvType::kQ8, n_keys),
              seen * (kKeyAndValue + 2 * 4));
  }
}

// Three heads with a matrix each, all of which every row meets; one latent row of 66 + 6.
TEST(BenchWork, LatentAttention) {
  ops::Program program;
  program.n_vocab = 5;
  std::vector<uint8_t> data(4 * 8 * 72), heads(4 * 3 * 8 * 6);
  ops::Matrix table{"m", DType::kF32, 8, 72, data}, each{"m", DType::kF32, 8, 6, heads};
  each.n_experts = 3;
  const ops::TensorId x = program.embed(program.add_matrix(table), 1.0f);
  const ops::TensorId q = program.linear(x, {program.add_matrix(table)});
  program.kv_layers = {{1, 72, 66}};
  program.head_linear({.in = q,
                       .in_stride = 24,
                       .matrix = program.add_matrix(each),
                       .out = program.heads(3, 6),
                       .out_stride = 6});
  program.ops.emplace_back(
      ops::Attention{.qkv = q, .kv_layer = 0, .n_heads = 3, .scale = 1.0f, .window = 0});
  EXPECT_EQ(weight_multiply_adds(program, 7, 1), 7u * (8 * 72 + 3 * 8 * 6));
  EXPECT_EQ(unread_bytes(program), data.size()) << "the table";
  EXPECT_EQ(kv_read_bytes(program, ops::KvType::kF16, 10), 10u * (72 + 66) * 2);
  EXPECT_EQ(kv_read_bytes(program, ops::KvType::kI16, 10), 10u * ((72 + 66) * 2 + 3 * 4))
      << "two scales of the key, one of the value";
  EXPECT_EQ(kv_read_bytes(program, ops::KvType::kQ8, 10), 10u * ((72 + 66) + 4 * 4));
}

TEST(BenchWork, TablesThatAreOnlyLookedUpIn) {
  EXPECT_EQ(unread_bytes(Small(false).program), 8u * 5 * 4);
  EXPECT_EQ(unread_bytes(Small(true).program), 0u);
}

}  // namespace
}  // namespace tempo9::engine
