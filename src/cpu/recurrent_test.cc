// Recurrent ops: against their meaning in double, and equal bits however a sequence is cut into
// steps, whatever runs beside it, and from whichever state it goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "cpu/cpu.h"
#include "cpu/test_program.h"
#include "ops/ref/interpreter.h"

namespace tempo9::cpu {
namespace {

constexpr uint32_t kVocab = 50;

// Recurrent layers of a width that no vector divides: a gated convolution of three taps, and one of
// four with bias and SiLU; then Gated DeltaNets, of both ways to pair heads, and a Mamba2, whose
// states are cut off in the last tile. A quantised product behind each.
struct RecurrentToy {
  ops::Program program;
  std::vector<std::vector<uint8_t>> bytes;

  explicit RecurrentToy(DType type = DType::kF32, uint32_t width = 96) {
    bytes.reserve(32);
    const auto matrix = [&](uint32_t n_in, uint32_t n_out, DType t) {
      return add_random_matrix(program, bytes, t, n_in, n_out);
    };
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const auto vector = [&](size_t n) {
      std::vector<float> values(n);
      for (float& value : values) value = normal(random);
      return program.add_vector(values);
    };
    const auto ones = program.add_vector(std::vector<float>(width, 1.0f));
    const auto x = program.embed(matrix(width, kVocab, DType::kF32), 1.0f);
    const auto in =
        program.linear(program.rms_norm(x, ones, 1e-5f), {matrix(width, 3 * width, type)});
    const auto gated =
        program.causal_conv({.in = in, .gated = true, .n_taps = 3, .weight = vector(3 * width)});
    program.add_linear(x, gated, matrix(width, width, type));
    const auto plain = program.causal_conv({.in = program.rms_norm(x, ones, 1e-5f),
                                            .n_taps = 4,
                                            .weight = vector(4 * width),
                                            .bias = vector(width),
                                            .silu = true});
    program.add_linear(x, plain, matrix(width, width, type));
    const auto above_zero = [&](size_t n, float sign) {
      std::vector<float> values(n);
      for (float& value : values) value = sign * std::exp(normal(random));
      return program.add_vector(values);
    };
    const auto norm = [&] { return program.rms_norm(x, ones, 1e-5f); };
    constexpr uint32_t kKeys = 2, kHeads = 6, kKey = 20, kValue = 40;
    for (const bool tiled : {false, true}) {
      const auto h = norm();
      const auto out = program.gated_delta(
          {.qkv =
               program.linear(h, {matrix(width, 2 * kKeys * kKey + kHeads * kValue, DType::kF32)}),
           .beta_alpha = program.linear(h, {matrix(width, 2 * kHeads, DType::kF32)}),
           .interleaved = !tiled,
           .tiled = tiled,
           .n_key_heads = kKeys,
           .key_dim = kKey,
           .n_value_heads = kHeads,
           .value_dim = kValue,
           .a = above_zero(kHeads, -0.3f),
           .dt_bias = vector(kHeads)});
      const auto gate = program.linear(h, {matrix(width, kHeads * kValue, DType::kF32)});
      const auto normed = program.gated_norm(
          {.in = out, .gate = gate, .weight = vector(kValue), .group_width = kValue, .eps = 1e-5f});
      const uint32_t n_gates = tiled ? 1 : kHeads * kValue;
      const auto last_gate = program.linear(h, {matrix(width, n_gates, DType::kF32)});
      program.add_linear(x, program.sigmoid_gate(normed, last_gate),
                         matrix(kHeads * kValue, width, DType::kF32));
    }
    const auto h = norm();
    const auto scanned = program.mamba2_scan(
        {.xbc = program.linear(h, {matrix(width, kHeads * kValue + 4 * kKey, DType::kF32)}),
         .dt = program.linear(h, {matrix(width, kHeads, DType::kF32)}),
         .n_heads = kHeads,
         .head_dim = kValue,
         .n_groups = 2,
         .state_dim = kKey,
         .a = above_zero(kHeads, -0.3f),
         .dt_bias = vector(kHeads),
         .d = vector(kHeads)});
    const auto gate = program.linear(h, {matrix(width, kHeads * kValue, DType::kF32)});
    const auto normed = program.gated_norm({.in = scanned,
                                            .gate = gate,
                                            .weight = vector(kHeads * kValue),
                                            .group_width = kHeads * kValue / 2,
                                            .eps = 1e-5f,
                                            .gate_first = true});
    const auto inner = program.linear(normed, {matrix(kHeads * kValue, 64, DType::kF32)});
    program.add_linear(x, program.relu_squared(inner), matrix(64, width, type));
    program.head(program.rms_norm(program.select_rows(x), ones, 1e-5f),
                 matrix(width, kVocab, DType::kF32));
  }
};

std::unique_ptr<ops::Backend> backend_of(const ops::Program& program, const KernelTable& table,
                                         uint32_t n_threads) {
  auto backend = make_backend(program, {.n_threads = n_threads,
                                        .max_rows = 64,
                                        .max_logit_rows = 64,
                                        .max_pages = 8,
                                        .max_states = 8,
                                        .kv_type = ops::KvType::kF32,
                                        .isa = table.name});
  EXPECT_TRUE(backend) << backend.error().message;
  return *std::move(backend);
}

std::vector<int32_t> some_tokens(size_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % kVocab);
  return tokens;
}

const std::vector<ops::PageId> kPages{0, 1, 2};

// The logits of tokens [n_past, n_past + n), which go on from a slot.
std::vector<float> step(ops::Backend& backend, std::span<const int32_t> tokens, uint32_t n_past,
                        uint32_t n, ops::StateSlot from, std::vector<ops::StateOut> out) {
  std::vector<uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0u);
  const ops::BatchSequence sequence{0, n, n_past, kPages, from, out};
  const auto logits = backend.step({tokens.subspan(n_past, n), {&sequence, 1}, rows});
  return {logits->begin(), logits->end()};
}

// All logits, cut into slices; the state moves on in place, or from slot to slot.
std::vector<float> in_slices(ops::Backend& backend, std::span<const int32_t> tokens, uint32_t slice,
                             bool in_place = true) {
  std::vector<float> all;
  ops::StateSlot from = ops::kNoSlot;
  for (uint32_t done = 0; done < tokens.size(); done += slice) {
    const auto n = std::min<uint32_t>(slice, static_cast<uint32_t>(tokens.size()) - done);
    const ops::StateSlot to = in_place ? 5 : from == 1 ? 2 : 1;
    const auto logits = step(backend, tokens, done, n, from, {{n - 1, to}});
    all.insert(all.end(), logits.begin(), logits.end());
    from = to;
  }
  return all;
}

std::vector<float> from_row(const std::vector<float>& logits, size_t row) {
  return {logits.begin() + static_cast<ptrdiff_t>(row * kVocab), logits.end()};
}

class RecurrentTest : public testing::TestWithParam<const KernelTable*> {};

TEST_P(RecurrentTest, AgreesWithTheInterpreter) {
  for (const uint32_t width : {96u, 104u}) {
    const RecurrentToy toy(DType::kF32, width);
    const auto tokens = some_tokens(40);
    const auto want = ops::interpret(toy.program, tokens);
    const auto got = in_slices(*backend_of(toy.program, *GetParam(), 2), tokens, 64);
    for (size_t i = 0; i < got.size(); ++i) {
      const double w = want[i / kVocab][i % kVocab];
      ASSERT_NEAR(static_cast<double>(got[i]), w, 1e-4 * (1 + std::abs(w))) << i;
    }
  }
}

TEST_P(RecurrentTest, BitsDoNotDependOnSlicesThreadsOrTable) {
  for (const DType type : {DType::kF32, DType::kQ8_0}) {
    const RecurrentToy toy(type);
    const auto tokens = some_tokens(60);
    const auto want = in_slices(*backend_of(toy.program, *GetParam(), 1), tokens, 60);
    for (const uint32_t slice : {1u, 2u, 3u, 7u, 32u, 59u}) {
      for (const bool in_place : {true, false}) {
        EXPECT_EQ(in_slices(*backend_of(toy.program, *GetParam(), 3), tokens, slice, in_place),
                  want)
            << slice;
      }
    }
    EXPECT_EQ(in_slices(*backend_of(toy.program, **select_kernels("scalar"), 1), tokens, 60), want);
  }
}

TEST_P(RecurrentTest, GoesOnFromEveryStateThatWasKept) {
  const RecurrentToy toy;
  const auto tokens = some_tokens(60);
  auto backend = backend_of(toy.program, *GetParam(), 2);
  const auto want = in_slices(*backend, tokens, 60);
  // Behind rows of one step: the first, two in the middle, one of them twice, and the last.
  step(*backend, tokens, 0, 40, ops::kNoSlot, {{0, 0}, {1, 1}, {31, 2}, {31, 3}, {39, 4}});
  const std::pair<uint32_t, ops::StateSlot> kept[] = {{1, 0}, {2, 1}, {32, 2}, {32, 3}, {40, 4}};
  for (const auto& [n, slot] : kept) {
    EXPECT_EQ(step(*backend, tokens, n, 60 - n, slot, {{59 - n, 6}}), from_row(want, n)) << n;
  }
  // Moved through bytes, as a disk keeps them; a slot that was given back is as good as any.
  std::vector<uint8_t> bytes(backend->state_bytes());
  backend->read_state(2, bytes);
  backend->drop_state(5);
  backend->write_state(5, bytes);
  EXPECT_EQ(step(*backend, tokens, 32, 28, 5, {{27, 5}}), from_row(want, 32));
}

// Drafts that are turned down: the sequence goes on from the state behind the last one accepted.
TEST_P(RecurrentTest, RowsCanBeRolledBack) {
  const RecurrentToy toy;
  const auto tokens = some_tokens(60);
  auto backend = backend_of(toy.program, *GetParam(), 2);
  const auto want = in_slices(*backend, tokens, 60);
  step(*backend, tokens, 0, 30, ops::kNoSlot, {{29, 0}});
  std::vector<int32_t> drafts(tokens.begin(), tokens.begin() + 32);
  drafts.insert(drafts.end(), {7, 8, 9});  // 30 and 31 are right, the rest is not
  step(*backend, drafts, 30, 5, 0, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  EXPECT_EQ(step(*backend, tokens, 32, 28, 2, {{27, 0}}), from_row(want, 32));
}

TEST_P(RecurrentTest, NeighboursChangeNothing) {
  const RecurrentToy toy(DType::kQ8_0);
  const auto tokens = some_tokens(50), others = some_tokens(30, 2);
  auto backend = backend_of(toy.program, *GetParam(), 2);
  const auto want = in_slices(*backend, tokens, 50);
  step(*backend, tokens, 0, 20, ops::kNoSlot, {{19, 0}});
  step(*backend, others, 0, 9, ops::kNoSlot, {{8, 1}});
  // One goes on, one begins, and the row that counts comes last.
  std::vector<int32_t> rows(others.begin() + 9, others.begin() + 11);
  rows.insert(rows.end(), others.begin(), others.begin() + 17);
  rows.insert(rows.end(), tokens.begin() + 20, tokens.begin() + 50);
  const ops::StateOut outs[] = {{1, 1}, {16, 2}, {29, 0}};
  const std::vector<ops::PageId> first{3}, second{4};
  const ops::BatchSequence sequences[] = {{0, 2, 9, first, 1, {&outs[0], 1}},
                                          {2, 17, 0, second, ops::kNoSlot, {&outs[1], 1}},
                                          {19, 30, 20, kPages, 0, {&outs[2], 1}}};
  std::vector<uint32_t> logit_rows(30);
  std::iota(logit_rows.begin(), logit_rows.end(), 19u);
  const auto logits = backend->step({rows, sequences, logit_rows});
  EXPECT_EQ(std::vector<float>(logits->begin(), logits->end()), from_row(want, 20));
}

INSTANTIATE_TEST_SUITE_P(Tables, RecurrentTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
