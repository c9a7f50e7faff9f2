// Whole programs on the CPU backend: against the interpreter in double, then equal bits for every
// way to run them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "cpu/cpu.h"
#include "cpu/test_program.h"
#include "ops/ref/interpreter.h"

namespace tempo9::cpu {
namespace {

// A two-layer decoder with everything in it: biases, norms per head, a window, tied table, soft
// cap.
struct Toy {
  ops::Program program;
  std::vector<std::vector<uint8_t>> bytes;

  explicit Toy(DType type, uint32_t width = 256, uint32_t head_dim = 32, uint32_t n_vocab = 83) {
    const uint32_t n_heads = 6, n_kv_heads = 2, ffn = 2 * width;
    const uint32_t q_width = n_heads * head_dim, kv_width = n_kv_heads * head_dim;
    bytes.reserve(64);
    const auto matrix = [&](uint32_t n_in, uint32_t n_out, DType t) {
      return add_random_matrix(program, bytes, t, n_in, n_out, 1.5f);
    };
    const auto ones = [&](uint32_t n, float value) {
      return program.add_vector(std::vector<float>(n, value));
    };
    ops::Rope rope;
    for (uint32_t i = 0; i < head_dim / 2; ++i)
      rope.inv_freq.push_back(std::pow(100.0, -2.0 * i / head_dim));
    rope.neox = true;
    program.ropes.push_back(rope);
    std::vector<float> sink_values(n_heads);
    std::iota(sink_values.begin(), sink_values.end(), -2.0f);
    const auto sinks = program.add_vector(sink_values);
    program.ropes[0].q_growth = 0.2f;
    program.ropes[0].q_growth_every = 40;
    const auto table = matrix(width, n_vocab, DType::kQ8_0);
    const ops::TensorId x = program.embed(table, 1.5f);
    for (uint32_t layer = 0; layer < 2; ++layer) {
      const auto h = program.rms_norm(x, ones(width, 1.1f), 1e-5f);
      const auto qkv = program.linear(h,
                                      {matrix(width, q_width, type), matrix(width, kv_width, type),
                                       matrix(width, kv_width, DType::kF32)},
                                      ones(q_width + 2 * kv_width, 0.1f));
      program.kv_layers.push_back({n_kv_heads, head_dim});
      program.rope_append({.qkv = qkv,
                           .kv_layer = layer,
                           .n_heads = n_heads,
                           .q_norm = ones(head_dim, 1.0f),
                           .k_norm = layer == 0 ? ones(head_dim, 1.2f) : ops::VectorId{},
                           .norm_eps = 1e-5f,
                           .rope = 0});
      const auto a = program.attention({.qkv = qkv,
                                        .kv_layer = layer,
                                        .n_heads = n_heads,
                                        .scale = 0.2f,
                                        .window = layer == 0 ? 50u : 0u,
                                        .softcap = layer == 0 ? 0.0f : 3.0f,
                                        .sinks = layer == 0 ? sinks : ops::VectorId{}});
      program.add_rms_norm(x, program.linear(a, {matrix(q_width, width, type)}), ones(width, 0.5f),
                           1e-5f);
      const auto h2 = program.rms_norm(x, ones(width, 0.9f), 1e-5f);
      const auto act = layer == 0 ? ops::Activation::kSilu : ops::Activation::kGeluTanh;
      const auto gated = program.gated_activation(
          program.linear(h2, {matrix(width, ffn, type), matrix(width, ffn, type)}), act);
      program.add_linear(x, gated, matrix(ffn, width, type));
    }
    program.head(program.rms_norm(program.select_rows(x), ones(width, 1.0f), 1e-5f), table, 15.0f);
  }
};

ops::BackendOptions options(const KernelTable& table, uint32_t n_threads,
                            ops::KvType kv_type = ops::KvType::kF32) {
  return {.n_threads = n_threads,
          .max_rows = 64,
          .max_logit_rows = 64,
          .max_pages = 64,
          .kv_type = kv_type,
          .isa = table.name};
}

std::vector<int32_t> random_tokens(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % 83);
  return tokens;
}

// All positions' logits of one sequence, its rows cut into slices of at most `slice`.
std::vector<float> run_alone(ops::Backend& backend, std::span<const int32_t> tokens,
                             uint32_t slice) {
  std::vector<ops::PageId> pages(tokens.size() / 32 + 1);
  std::iota(pages.rbegin(), pages.rend(), 3u);
  return run_in_slices(backend, tokens, pages, slice);
}

class BackendTest : public testing::TestWithParam<const KernelTable*> {};

TEST_P(BackendTest, AgreesWithTheInterpreterOnFloatWeights) {
  // The tied table is Q8_0, so the head's input is rounded to int8: half a step of 127 in each of
  // its 256 terms.
  const Toy toy(DType::kF16);
  const auto tokens = random_tokens(150, 1);
  const auto want = ops::interpret(toy.program, tokens);
  auto backend = make_backend(toy.program, options(*GetParam(), 2));
  ASSERT_TRUE(backend) << backend.error().message;
  const std::vector<float> got = run_alone(**backend, tokens, 64);
  double squares = 0, errors = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double w = want[i / 83][i % 83];
    squares += w * w;
    errors += (w - static_cast<double>(got[i])) * (w - static_cast<double>(got[i]));
  }
  EXPECT_GT(squares / static_cast<double>(got.size()), 0.01);
  EXPECT_LT(std::sqrt(errors / squares), 0.01);
}

TEST_P(BackendTest, RunMaximaAreTheLogits) {
  constexpr uint32_t kVocab = 20011;  // several pieces, and a last run that is cut
  const Toy toy(DType::kQ8_0, 256, 32, kVocab);
  const auto tokens = random_tokens(3, 1);
  auto backend = make_backend(toy.program, options(*GetParam(), 2));
  ASSERT_TRUE(backend) << backend.error().message;
  const std::vector<float> logits = run_alone(**backend, tokens, 3);
  std::vector<float> want;
  for (size_t row = 0; row < 3; ++row) {
    for (size_t id = 0; id < kVocab; id += ops::kLogitRun) {
      const auto* run = &logits[row * kVocab + id];
      want.push_back(*std::max_element(run, run + std::min<size_t>(32, kVocab - id)));
    }
  }
  EXPECT_TRUE(std::ranges::equal((*backend)->run_maxima(), want));
}

// Hidden states: right, and with the same bits in slices, alone or beside rows that want logits.
TEST_P(BackendTest, StatesAgreeWithTheInterpreterAndKeepTheirBits) {
  const Toy toy(DType::kF16);
  const auto tokens = random_tokens(50, 1);
  const auto want = ops::interpret_states(toy.program, tokens);
  ASSERT_EQ(toy.program.state_width(), 256u);
  auto backend = make_backend(toy.program, options(*GetParam(), 2));
  ASSERT_TRUE(backend) << backend.error().message;
  const std::vector<float> logits = run_alone(**backend, tokens, 64);
  const std::vector<ops::PageId> pages = {5, 6};
  const auto run = [&](uint32_t slice, bool last_wants_logits) {
    std::vector<float> all;
    for (uint32_t done = 0; done < tokens.size();) {
      const uint32_t n = std::min<uint32_t>(slice, 50 - done);
      std::vector<uint32_t> state_rows(n), logit_rows;
      std::iota(state_rows.begin(), state_rows.end(), 0u);
      if (last_wants_logits) {
        logit_rows = {state_rows.back()};
        state_rows.pop_back();
      }
      const ops::BatchSequence sequence{0, n, done, pages};
      const auto got = (*backend)->step(
          {std::span(tokens).subspan(done, n), {&sequence, 1}, logit_rows, state_rows});
      EXPECT_EQ(got->size(), logit_rows.size() * 83);
      const auto row = logits.begin() + ptrdiff_t{83} * (done + n - 1);
      EXPECT_TRUE(std::equal(got->begin(), got->end(), row));
      const auto states = (*backend)->states();
      EXPECT_EQ(states.size(), state_rows.size() * 256);
      all.insert(all.end(), states.begin(), states.end());
      done += n;
    }
    return all;
  };
  const std::vector<float> whole = run(64, false);
  for (size_t i = 0; i < whole.size(); ++i) {
    ASSERT_NEAR(whole[i], want[i / 256][i % 256], 2e-3) << i;
  }
  EXPECT_EQ(run(1, false), whole);
  EXPECT_EQ(run(33, false), whole);
  EXPECT_EQ(run(64, true), std::vector<float>(whole.begin(), whole.end() - 256));
}

TEST_P(BackendTest, QuantisedWeightsStayWithinTheActivationsError) {
  for (const DType type :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ4_K,
        DType::kQ5_K, DType::kQ6_K, DType::kQ2_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kTQ2_0,
        DType::kQ3_K, DType::kIQ2_S, DType::kIQ3_XXS}) {
    const Toy toy(type, 256, 128);
    const auto tokens = random_tokens(40, 2);
    const auto want = ops::interpret(toy.program, tokens);
    auto backend = make_backend(toy.program, options(*GetParam(), 1));
    ASSERT_TRUE(backend) << backend.error().message;
    const std::vector<float> got = run_alone(**backend, tokens, 7);
    double squares = 0, errors = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double w = want[i / 83][i % 83];
      squares += w * w;
      errors += (w - static_cast<double>(got[i])) * (w - static_cast<double>(got[i]));
    }
    // About 0.8 % a product, thirteen products deep.
    EXPECT_LT(std::sqrt(errors / squares), 0.06) << dtype_info(type).name;
  }
}

TEST_P(BackendTest, BitsDoNotDependOnSlicesThreadsOrNeighbours) {
  const Toy toy(DType::kQ5_0);
  const auto tokens = random_tokens(100, 3), other = random_tokens(30, 4);
  auto one = make_backend(toy.program, options(*GetParam(), 1));
  auto three = make_backend(toy.program, options(*GetParam(), 3));
  const std::vector<float> want = run_alone(**one, tokens, 64);
  for (const uint32_t slice : {1u, 5u, 32u, 33u}) {
    ASSERT_EQ(run_alone(**one, tokens, slice), want) << slice;
    ASSERT_EQ(run_alone(**three, tokens, slice), want) << slice;
  }
  // Beside another sequence whose rows come first, the last token's row must be the same.
  ASSERT_EQ(run_alone(**three, std::span(tokens).first(99), 64).size(), 99u * 83);
  std::vector<ops::PageId> pages(4), more{40, 41};
  std::iota(pages.rbegin(), pages.rend(), 3u);  // where run_alone left it
  std::vector<int32_t> rows(other.begin(), other.end());
  rows.push_back(tokens[99]);
  const ops::BatchSequence sequences[] = {{0, 30, 0, more}, {30, 1, 99, pages}};
  const uint32_t last = 30;
  const auto logits = (*three)->step({rows, sequences, {&last, 1}});
  EXPECT_TRUE(std::equal(logits->begin(), logits->end(), want.end() - 83));
}

TEST_P(BackendTest, ALongContextSharedByManyThreadsGivesTheSameBits) {
  const Toy toy(DType::kQ8_0, 64, 16);
  const auto tokens = random_tokens(600, 8);
  for (const auto kv_type : {ops::KvType::kI16, ops::KvType::kQ8, ops::KvType::kF16}) {
    auto one = make_backend(toy.program, options(*GetParam(), 1, kv_type));
    const std::vector<float> want = run_alone(**one, tokens, 64);
    auto many = make_backend(toy.program, options(*GetParam(), 5, kv_type));
    run_alone(**many, std::span(tokens).first(597), 64);
    std::vector<ops::PageId> pages(tokens.size() / 32 + 1);
    std::iota(pages.rbegin(), pages.rend(), 3u);
    for (uint32_t position = 597; position < 600; ++position) {
      const ops::BatchSequence sequence{0, 1, position, pages};
      const uint32_t row = 0;
      const auto logits =
          (*many)->step({std::span(tokens).subspan(position, 1), {&sequence, 1}, {&row, 1}});
      ASSERT_TRUE(std::equal(logits->begin(), logits->end(),
                             want.begin() + static_cast<ptrdiff_t>(83 * position)))
          << position;
    }
  }
}

TEST_P(BackendTest, EveryTableGivesTheSameBits) {
  const Toy toy(DType::kQ4_K, 256, 128);
  const auto tokens = random_tokens(70, 5);
  auto mine = make_backend(toy.program, options(*GetParam(), 2));
  auto scalar = make_backend(toy.program, options(**select_kernels("scalar"), 1));
  EXPECT_EQ(run_alone(**mine, tokens, 64), run_alone(**scalar, tokens, 64));
}

TEST_P(BackendTest, ACopiedPageServesLikeItsOriginal) {
  const Toy toy(DType::kQ8_0);
  const auto tokens = random_tokens(50, 6);
  for (const auto kv_type :
       {ops::KvType::kI16, ops::KvType::kQ8, ops::KvType::kF16, ops::KvType::kF32}) {
    auto backend = make_backend(toy.program, options(*GetParam(), 1, kv_type));
    const std::vector<float> want = run_alone(**backend, tokens, 64);
    // Positions 0..31 on the original page, 32..44 copied, the rest computed anew on the copy.
    std::vector<ops::PageId> pages{4, 20};
    (*backend)->copy_page(3, 20, 13);
    std::vector<uint32_t> rows{0, 1, 2, 3, 4};
    const ops::BatchSequence sequence{0, 5, 45, pages};
    const auto logits = (*backend)->step({std::span(tokens).subspan(45), {&sequence, 1}, rows});
    EXPECT_TRUE(std::equal(logits->begin(), logits->end(), want.end() - 5 * 83));
  }
}

TEST_P(BackendTest, EveryKvTypeStaysWithinItsError) {
  const Toy toy(DType::kF32);
  const auto tokens = random_tokens(60, 7);
  const std::vector<float> want =
      run_alone(**make_backend(toy.program, options(*GetParam(), 1)), tokens, 64);
  for (const auto kv_type : {ops::KvType::kI16, ops::KvType::kQ8, ops::KvType::kF16}) {
    auto backend = make_backend(toy.program, options(*GetParam(), 1, kv_type));
    const std::vector<float> got = run_alone(**backend, tokens, 9);
    double squares = 0, errors = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const auto w = static_cast<double>(want[i]), error = w - static_cast<double>(got[i]);
      squares += w * w;
      errors += error * error;
    }
    EXPECT_GT(errors, 0) << "the type was not used";
    EXPECT_LT(std::sqrt(errors / squares), kv_type == ops::KvType::kQ8 ? 3e-2 : 5e-3);
  }
}

TEST(KvPageBytes, CountsKeysValuesAndScalesOfAllLayers) {
  ops::Program program;
  program.kv_layers = {{2, 64}, {1, 128}};
  EXPECT_EQ(kv_page_bytes(program, ops::KvType::kF16), 2u * 2 * 32 * (128 + 128));
  EXPECT_EQ(kv_page_bytes(program, ops::KvType::kF32), 2u * 4 * 32 * (128 + 128));
  EXPECT_EQ(kv_page_bytes(program, ops::KvType::kI16), 36864u)
      << "two bytes a value and three times 32 keys of two scales, in whole pages of 4096";
  EXPECT_EQ(kv_page_bytes(program, ops::KvType::kQ8), 20480u)
      << "a byte a value, and 32 keys of two heads with three scales and one with five";
}

// Layers with equal windows share a part; a layer that is read in two ways is read to the end.
TEST(KvPageBytes, APartForEachWindow) {
  ops::Program program;
  program.kv_layers = {{1, 64}, {1, 64}, {1, 64}, {1, 64}};
  const auto read = [&](uint32_t layer, uint32_t window) {
    ops::Attention attention{};
    attention.kv_layer = layer;
    attention.window = window;
    program.ops.push_back(attention);
  };
  read(0, 512), read(1, 0), read(2, 512), read(3, 512), read(3, 0);
  EXPECT_EQ(ops::kv_windows(program), (std::vector<uint32_t>{512, 0, 512, 0}));
  const auto classes = kv_page_classes(program, ops::KvType::kF16);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].window, 0u);
  EXPECT_EQ(classes[0].bytes, 2u * 2 * 2 * 32 * 64);
  EXPECT_EQ(classes[1].window, 512u);
  EXPECT_EQ(classes[1].bytes, 2u * 2 * 2 * 32 * 64);
}

TEST_P(BackendTest, PackedSizeIsKnownBeforehand) {
  for (const DType type : {DType::kF32, DType::kQ4_K, DType::kQ6_K, DType::kIQ2_XS}) {
    const Toy toy(type, 256, 128);  // rows of whole blocks
    auto backend = make_backend(toy.program, options(*GetParam(), 1));
    EXPECT_EQ(packed_weight_bytes(toy.program), (*backend)->weight_bytes());
  }
}

// The toy's first layer has a window of 50 tokens: what lies behind it may go, and a page's bytes
// come back as they went.
TEST_P(BackendTest, WhatAWindowHasPassedIsNotNeeded) {
  const Toy toy(DType::kQ8_0);
  const auto tokens = random_tokens(150, 9);
  for (const auto kv_type : {ops::KvType::kI16, ops::KvType::kQ8, ops::KvType::kF32}) {
    auto backend = make_backend(toy.program, options(*GetParam(), 1, kv_type));
    const std::vector<float> want = run_alone(**backend, tokens, 64);
    std::vector<ops::PageId> pages(5);
    std::iota(pages.rbegin(), pages.rend(), 3u);
    (*backend)->drop_part(pages[0], 1);
    (*backend)->drop_part(pages[1], 1);
    std::vector<uint8_t> bytes((*backend)->page_bytes());
    (*backend)->read_page(pages[2], bytes);
    (*backend)->copy_part(pages[3], 30, 1);
    (*backend)->drop_part(pages[3], 1);
    (*backend)->copy_part(30, pages[3], 1);
    for (size_t part = 0; part < 2; ++part) (*backend)->drop_part(pages[2], part);
    (*backend)->write_page(pages[2], bytes);
    const std::vector<uint32_t> rows{0, 1, 2};
    const ops::BatchSequence sequence{0, 3, 147, pages};
    const auto logits = (*backend)->step({std::span(tokens).subspan(147), {&sequence, 1}, rows});
    EXPECT_TRUE(std::equal(logits->begin(), logits->end(), want.end() - 3 * 83));
  }
}

// One token's embedding is no number: whoever holds it has no finite logits from there on; who is
// beside it, or comes to its pages later, has its own bits.
TEST_P(BackendTest, WhatIsNotFiniteStaysInItsSequence) {
  constexpr size_t kVocab = 83, kBroken = 5, kAt = 20;
  Toy toy(DType::kQ5_0);
  uint8_t* row = &toy.bytes[0][kBroken * (256 / 32 * 34)];  // Q8_0: a block is a scale and 32 bytes
  row[0] = 0x00, row[1] = 0x7E;                             // f16: no number
  auto spoilt = random_tokens(60, 11), other = random_tokens(45, 12);
  for (auto* tokens : {&spoilt, &other}) std::ranges::replace(*tokens, int32_t{kBroken}, 6);
  spoilt[kAt] = kBroken;
  // Its own row of the head is broken, too: that one logit is no number for anybody.
  const auto rows_of = [&](std::span<const float> logits) {
    std::vector<float> rows(logits.begin(), logits.end());
    for (size_t i = kBroken; i < rows.size(); i += kVocab) {
      EXPECT_TRUE(std::isnan(rows[i]));
      rows[i] = 0;
    }
    return rows;
  };
  for (const auto kv_type :
       {ops::KvType::kI16, ops::KvType::kQ8, ops::KvType::kF16, ops::KvType::kF32}) {
    const auto set = options(*GetParam(), 2, kv_type);
    const std::vector<float> want = rows_of(run_alone(**make_backend(toy.program, set), other, 64));
    auto backend = make_backend(toy.program, set);
    const std::vector<float> got = run_alone(**backend, spoilt, 64);
    for (size_t i = 0; i < got.size(); ++i) {
      const bool none = i / kVocab >= kAt || i % kVocab == kBroken;
      ASSERT_EQ(std::isfinite(got[i]), !none) << "row " << i / kVocab;
    }
    EXPECT_EQ(rows_of(run_alone(**backend, other, 64)), want) << "on the same pages";
    const ops::PageId pages[] = {4, 3}, more[] = {20, 21};
    std::vector<int32_t> tokens(spoilt.begin(), spoilt.begin() + 30);
    tokens.push_back(other[44]);
    const ops::BatchSequence sequences[] = {{0, 30, 0, more}, {30, 1, 44, pages}};
    const uint32_t last = 30;
    const auto beside = (*backend)->step({tokens, sequences, {&last, 1}});
    EXPECT_EQ(rows_of(*beside), std::vector<float>(want.end() - kVocab, want.end()));
  }
}

TEST_P(BackendTest, AnInterruptEndsTheStepThatRunsAndAllThatFollow) {
  const Toy toy(DType::kQ8_0);
  const auto tokens = random_tokens(64, 7);
  auto backend = make_backend(toy.program, options(*GetParam(), 2));
  const ops::PageId pages[] = {0, 1};
  const ops::BatchSequence sequence{0, 64, 0, pages};
  std::atomic<int> n_done{0};
  ErrorCode code{};
  std::thread engine([&] {
    while (true) {
      const auto logits = (*backend)->step({tokens, {&sequence, 1}, {}});
      if (!logits) {
        code = logits.error().code;
        return;
      }
      ++n_done;
      n_done.notify_all();
    }
  });
  n_done.wait(0);
  (*backend)->interrupt();
  engine.join();
  EXPECT_EQ(code, ErrorCode::kCancelled);
  EXPECT_FALSE((*backend)->step({tokens, {&sequence, 1}, {}}));
}

INSTANTIATE_TEST_SUITE_P(Tables, BackendTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
