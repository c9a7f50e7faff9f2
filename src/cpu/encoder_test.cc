// Programs whose rows see both ways, with the ops that encoders have: against the interpreter, and
// equal bits whoever else is in the step.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "cpu/cpu.h"
#include "cpu/test_program.h"
#include "ops/ref/interpreter.h"

namespace tempo9::cpu {
namespace {

constexpr uint32_t kEncoderWidth = 96, kEncoderVocab = 61, kPositions = 512;

// One BERT layer with a window, then a product behind the pooled rows.
struct Encoder {
  ops::Program program;
  std::vector<std::vector<uint8_t>> bytes;

  explicit Encoder(DType type, uint32_t window) {
    const uint32_t n_heads = 3, head_dim = 32, ffn = 160;
    bytes.reserve(16);
    const auto matrix = [&](uint32_t n_in, uint32_t n_out) {
      return add_random_matrix(program, bytes, type, n_in, n_out);
    };
    const auto vector = [&](uint32_t n, float first) {
      std::vector<float> values(n);
      for (uint32_t i = 0; i < n; ++i) values[i] = first + 0.01f * static_cast<float>(i % 7);
      return program.add_vector(values);
    };
    const auto norm = [&](ops::TensorId x) {
      return program.layer_norm(x, vector(kEncoderWidth, 1.0f), vector(kEncoderWidth, -0.1f),
                                1e-5f);
    };
    program.ropes.emplace_back();
    program.kv_layers.push_back({n_heads, head_dim});
    ops::TensorId x =
        norm(program.embed(matrix(kEncoderWidth, kEncoderVocab), 1.5f,
                           matrix(kEncoderWidth, kPositions), vector(kEncoderWidth, 0.3f)));
    const auto qkv = program.linear(x, {matrix(kEncoderWidth, 3 * kEncoderWidth)},
                                    vector(3 * kEncoderWidth, 0.2f));
    program.rope_append({.qkv = qkv,
                         .kv_layer = 0,
                         .n_heads = n_heads,
                         .q_norm = {},
                         .k_norm = {},
                         .norm_eps = 0,
                         .rope = 0});
    const auto attended = program.attention({.qkv = qkv,
                                             .kv_layer = 0,
                                             .n_heads = n_heads,
                                             .scale = 0.4f,
                                             .window = window,
                                             .causal = false});
    program.add_linear(x, attended, matrix(kEncoderWidth, kEncoderWidth));
    x = norm(x);
    const auto inner = program.gelu(program.linear(x, {matrix(kEncoderWidth, ffn)}));
    program.add_linear(x, inner, matrix(ffn, kEncoderWidth));
    x = norm(x);
    const auto wide = program.linear(program.select_rows(x), {matrix(kEncoderWidth, 128)});
    program.end_without_head(program.linear(wide, {matrix(128, 64)}));
  }
};

std::vector<int32_t> encoder_tokens(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(random() % kEncoderVocab);
  return tokens;
}

// The states of all rows of several sequences in one step.
std::vector<std::vector<float>> encode(ops::Backend& backend,
                                       const std::vector<std::vector<int32_t>>& texts) {
  std::vector<int32_t> tokens;
  std::vector<std::vector<ops::PageId>> pages;
  std::vector<ops::BatchSequence> sequences;
  ops::PageId next = 1;
  for (const auto& text : texts) {
    pages.emplace_back(text.size() / 32 + 1);
    std::iota(pages.back().rbegin(), pages.back().rend(), next);
    next += static_cast<ops::PageId>(pages.back().size());
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    sequences.push_back({static_cast<uint32_t>(tokens.size()),
                         static_cast<uint32_t>(texts[i].size()), 0, pages[i]});
    tokens.insert(tokens.end(), texts[i].begin(), texts[i].end());
  }
  std::vector<uint32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0u);
  const auto logits = backend.step(
      {.tokens = tokens, .sequences = sequences, .logit_rows = {}, .state_rows = rows});
  EXPECT_TRUE(logits && logits->empty());
  const auto states = backend.states();
  const size_t width = states.size() / tokens.size();
  std::vector<std::vector<float>> out;
  for (const ops::BatchSequence& s : sequences) {
    const auto part = states.subspan(s.first_row * width, s.n_rows * width);
    out.emplace_back(part.begin(), part.end());
  }
  return out;
}

class EncoderTest : public testing::TestWithParam<const KernelTable*> {
 protected:
  std::unique_ptr<ops::Backend> backend(const ops::Program& program, ops::KvType kv_type) {
    auto made = make_backend(program, {.n_threads = 2,
                                       .max_rows = 700,
                                       .max_logit_rows = 4,
                                       .max_pages = 40,
                                       .kv_type = kv_type,
                                       .isa = GetParam()->name});
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
};

TEST_P(EncoderTest, AgreesWithTheInterpreter) {
  for (const uint32_t window : {0u, 20u}) {
    const Encoder encoder(DType::kF32, window);
    const auto text = encoder_tokens(90, 1);
    const auto want = ops::interpret_states(encoder.program, text);
    const auto got = encode(*backend(encoder.program, ops::KvType::kF32), {text})[0];
    ASSERT_EQ(got.size(), want.size() * 64);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), want[i / 64][i % 64], 2e-5) << window << ' ' << i;
  }
}

TEST_P(EncoderTest, ATextHasTheSameBitsAmongOthers) {
  const Encoder encoder(DType::kQ8_0, 0);
  const auto mine = backend(encoder.program, ops::KvType::kI16);
  const std::vector<std::vector<int32_t>> texts = {encoder_tokens(1, 2), encoder_tokens(300, 3),
                                                   encoder_tokens(33, 4), encoder_tokens(257, 5)};
  const auto together = encode(*mine, texts);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(encode(*mine, {texts[i]})[0], together[i]);
}

INSTANTIATE_TEST_SUITE_P(Tables, EncoderTest, testing::ValuesIn(available_tables()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace tempo9::cpu
