// What build_program refuses, and in which words; that the right graphs compute the right numbers
// is tests/golden's part.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "gguf/test_writer.h"
#include "models/blocks/reader.h"
#include "models/models.h"

namespace tempo9::models {
namespace {

using gguf::Bytes;
using gguf::Kind;
using gguf::TestWriter;

TestWriter& f32_matrix(TestWriter& w, const std::string& name, uint64_t n_in, uint64_t n_out) {
  return w.tensor({name, {n_in, n_out}, 0, std::vector<uint8_t>(4 * n_in * n_out), {}, {}});
}

// One layer, hidden size 8, 2 heads of 4, 1 kv head, 12 in between, 5 tokens.
TestWriter tiny_qwen2() {
  TestWriter w;
  w.string("general.architecture", "qwen2")
      .u32("qwen2.block_count", 1)
      .u32("qwen2.context_length", 64);
  w.u32("qwen2.embedding_length", 8).u32("qwen2.feed_forward_length", 12);
  w.u32("qwen2.attention.head_count", 2).u32("qwen2.attention.head_count_kv", 1);
  set_f32(w, "qwen2.attention.layer_norm_rms_epsilon", 1e-6f);
  set_f32(w, "qwen2.rope.freq_base", 1e6f);
  f32_matrix(w, "token_embd.weight", 8, 5);
  w.f32("output_norm.weight", 8).f32("blk.0.attn_norm.weight", 8).f32("blk.0.ffn_norm.weight", 8);
  f32_matrix(w, "blk.0.attn_q.weight", 8, 8);
  f32_matrix(w, "blk.0.attn_k.weight", 8, 4);
  f32_matrix(w, "blk.0.attn_v.weight", 8, 4);
  w.f32("blk.0.attn_q.bias", 8);
  f32_matrix(w, "blk.0.attn_output.weight", 8, 8);
  f32_matrix(w, "blk.0.ffn_gate.weight", 8, 12);
  f32_matrix(w, "blk.0.ffn_up.weight", 8, 12);
  f32_matrix(w, "blk.0.ffn_down.weight", 12, 8);
  return w;
}

Result<ops::Program> build(const TestWriter& w) {
  auto file = gguf::File::from_bytes(w.build());
  EXPECT_TRUE(file) << file.error().message;
  return build_program(*file);
}

TEST(BuildProgram, RecordsASoundFile) {
  const auto program = build(tiny_qwen2());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->n_vocab, 5u);
  ASSERT_EQ(program->kv_layers.size(), 1u);
  EXPECT_EQ(program->kv_layers[0].head_dim, 4u);
  EXPECT_TRUE(program->ropes[0].neox);
  // The q bias stands in front, zeros for k and v.
  EXPECT_EQ(program->vectors[1],
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(BuildProgram, AMatrixMayHaveAScale) {
  TestWriter w = tiny_qwen2();
  w.f32("blk.0.attn_k.scale", 1, 3.5f);
  const auto program = build(w);
  ASSERT_TRUE(program) << program.error().message;
  for (const ops::Matrix& matrix : program->matrices)
    EXPECT_EQ(matrix.scale, matrix.name == "blk.0.attn_k.weight" ? 3.5f : 1.0f) << matrix.name;
}

struct Refusal {
  const char* what;
  std::function<void(TestWriter&)> damage;
  ErrorCode code;
  std::vector<std::string> words;
};

void expect_refusals(TestWriter (*whole)(), const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    TestWriter w = whole();
    refusal.damage(w);
    const auto program = build(w);
    ASSERT_FALSE(program) << refusal.what;
    EXPECT_EQ(program.error().code, refusal.code) << refusal.what;
    for (const std::string& word : refusal.words) {
      EXPECT_NE(program.error().message.find(word), std::string::npos)
          << refusal.what << ": " << program.error().message;
    }
  }
}

void remove_tensor(TestWriter& w, std::string_view name) {
  std::erase_if(w.tensors, [&](const auto& t) { return t.name == name; });
}

TEST(BuildProgram, RefusesWhatItCannotServeAndSaysWhat) {
  const std::vector<Refusal> refusals = {
      {"unknown architecture",
       [](TestWriter& w) { w.metadata[0].second = Bytes().kind(Kind::kString).text("rwkv9"); },
       ErrorCode::kUnsupported,
       {"rwkv9", "qwen2", "gemma3"}},
      {"missing tensor",
       [](TestWriter& w) { remove_tensor(w, "blk.0.ffn_up.weight"); },
       ErrorCode::kCorrupt,
       {"blk.0.ffn_up.weight", "missing", "[8, 12]"}},
      {"wrong shape",
       [](TestWriter& w) {
         remove_tensor(w, "blk.0.attn_k.weight");
         f32_matrix(w, "blk.0.attn_k.weight", 8, 6);
       },
       ErrorCode::kCorrupt,
       {"blk.0.attn_k.weight", "[8, 6, 1, 1]", "[8, 4]"}},
      {"a tensor that the graph has no place for",
       [](TestWriter& w) { w.f32("blk.0.attn_q.input_scale", 1); },
       ErrorCode::kUnsupported,
       {"blk.0.attn_q.input_scale", "qwen2"}},
      {"more than one scale of a matrix",
       [](TestWriter& w) { w.f32("blk.0.attn_q.scale", 2); },
       ErrorCode::kCorrupt,
       {"blk.0.attn_q.scale", "[2, 1, 1, 1]"}},
      {"integers as weights",
       [](TestWriter& w) {
         remove_tensor(w, "blk.0.attn_output.weight");
         w.tensor({"blk.0.attn_output.weight", {8, 8}, 26, std::vector<uint8_t>(256), {}, {}});
       },
       ErrorCode::kUnsupported,
       {"blk.0.attn_output.weight", "I32"}},
      {"no layers",
       [](TestWriter& w) { set_u32(w, "qwen2.block_count", 0); },
       ErrorCode::kCorrupt,
       {"qwen2.block_count", "0"}},
      {"more layers than tensors",
       [](TestWriter& w) { set_u32(w, "qwen2.block_count", 2); },
       ErrorCode::kCorrupt,
       {"blk.1."}},
      {"heads that do not divide",
       [](TestWriter& w) {
         set_u32(w, "qwen2.attention.head_count", 3);
         set_u32(w, "qwen2.attention.head_count_kv", 2);
       },
       ErrorCode::kCorrupt,
       {"3 attention heads", "2 key/value heads"}},
      {"no KV heads where there is attention",
       [](TestWriter& w) { set_u32(w, "qwen2.attention.head_count_kv", 0); },
       ErrorCode::kCorrupt,
       {"head_count_kv", "layer 0", "0"}},
      {"no width where there is an MLP",
       [](TestWriter& w) { set_u32(w, "qwen2.feed_forward_length", 0); },
       ErrorCode::kCorrupt,
       {"feed_forward_length", "layer 0", "0"}},
      {"an embedding of another width",
       [](TestWriter& w) { set_u32(w, "qwen2.embedding_length", 16); },
       ErrorCode::kCorrupt,
       {"token_embd.weight", "16"}},
      {"unknown rope scaling",
       [](TestWriter& w) { w.string("qwen2.rope.scaling.type", "longrope"); },
       ErrorCode::kUnsupported,
       {"longrope", "yarn"}},
      {"rope over more than a head",
       [](TestWriter& w) { w.u32("qwen2.rope.dimension_count", 6); },
       ErrorCode::kCorrupt,
       {"rope.dimension_count", "6", "4"}},
  };
  expect_refusals(tiny_qwen2, refusals);
}

// Qwen3.5 with attention in its one layer, and a layer for drafts behind it.
TestWriter tiny_qwen35() {
  TestWriter w;
  w.string("general.architecture", "qwen35")
      .u32("qwen35.block_count", 2)
      .u32("qwen35.nextn_predict_layers", 1)
      .u32("qwen35.full_attention_interval", 1)
      .u32("qwen35.context_length", 64)
      .u32("qwen35.embedding_length", 8)
      .u32("qwen35.feed_forward_length", 12)
      .u32("qwen35.attention.head_count", 2)
      .u32("qwen35.attention.head_count_kv", 1);
  set_f32(w, "qwen35.attention.layer_norm_rms_epsilon", 1e-6f);
  f32_matrix(w, "token_embd.weight", 8, 5);
  w.f32("output_norm.weight", 8).f32("blk.0.attn_norm.weight", 8);
  w.f32("blk.0.post_attention_norm.weight", 8);
  w.f32("blk.0.attn_q_norm.weight", 4).f32("blk.0.attn_k_norm.weight", 4);
  f32_matrix(w, "blk.0.attn_q.weight", 8, 16);
  f32_matrix(w, "blk.0.attn_k.weight", 8, 4);
  f32_matrix(w, "blk.0.attn_v.weight", 8, 4);
  f32_matrix(w, "blk.0.attn_output.weight", 8, 8);
  f32_matrix(w, "blk.0.ffn_gate.weight", 8, 12);
  f32_matrix(w, "blk.0.ffn_up.weight", 8, 12);
  f32_matrix(w, "blk.0.ffn_down.weight", 12, 8);
  f32_matrix(w, "blk.1.nextn.eh_proj.weight", 16, 8);
  w.f32("blk.1.nextn.enorm.weight", 8).f32("blk.1.nextn.hnorm.weight", 8);
  f32_matrix(w, "blk.1.attn_q.weight", 8, 16);
  return w;
}

TEST(BuildProgram, KeepsLayersForDraftsApart) {
  const auto program = build(tiny_qwen35());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->kv_layers.size(), 1u);
  EXPECT_EQ(std::ranges::count_if(
                program->ops,
                [](const ops::Op& op) { return std::holds_alternative<ops::SigmoidGate>(op); }),
            1);
  ASSERT_EQ(program->draft_layers.size(), 1u);
  const ops::DraftLayer& kept = program->draft_layers[0];
  ASSERT_EQ(kept.matrices.size(), 2u);
  const auto& joint = program->matrices[static_cast<size_t>(kept.matrices[0].index)];
  EXPECT_EQ(joint.name, "blk.1.nextn.eh_proj.weight");
  EXPECT_EQ(joint.data.size(), 4u * 16 * 8);
  ASSERT_EQ(kept.vectors.size(), 2u);
  EXPECT_EQ(kept.vectors[1].first, "blk.1.nextn.hnorm.weight");
}

TEST(BuildProgram, LayersForDraftsMayBeMissingButNotInPart) {
  TestWriter w = tiny_qwen35();
  std::erase_if(w.tensors, [](const auto& t) { return t.name.starts_with("blk.1."); });
  const auto stripped = build(w);
  ASSERT_TRUE(stripped) << stripped.error().message;
  EXPECT_TRUE(stripped->draft_layers.empty());
  w = tiny_qwen35();
  remove_tensor(w, "blk.1.nextn.hnorm.weight");
  const auto in_part = build(w);
  ASSERT_FALSE(in_part);
  EXPECT_NE(in_part.error().message.find("blk.1.nextn.hnorm.weight is missing"), std::string::npos)
      << in_part.error().message;
  w = tiny_qwen35();
  f32_matrix(w, "blk.0.nextn.eh_proj.weight", 16, 8);
  const auto refused = build(w);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("blk.0.nextn.eh_proj.weight"), std::string::npos);
  w = tiny_qwen35();
  set_u32(w, "qwen35.nextn_predict_layers", 2);
  const auto no_layers = build(w);
  ASSERT_FALSE(no_layers);
  EXPECT_NE(no_layers.error().message.find("nextn_predict_layers is 2 of 2 layers"),
            std::string::npos)
      << no_layers.error().message;
}

// One Mamba2 layer: 2 heads of 6 in 2 groups, states of 3 rows.
TestWriter tiny_nemotron_h() {
  TestWriter w;
  w.string("general.architecture", "nemotron_h")
      .u32("nemotron_h.block_count", 1)
      .u32("nemotron_h.context_length", 64)
      .u32("nemotron_h.embedding_length", 8)
      .u32("nemotron_h.feed_forward_length", 0)
      .u32("nemotron_h.attention.head_count", 2)
      .u32("nemotron_h.attention.head_count_kv", 0)
      .u32("nemotron_h.ssm.conv_kernel", 4)
      .u32("nemotron_h.ssm.inner_size", 12)
      .u32("nemotron_h.ssm.state_size", 3)
      .u32("nemotron_h.ssm.time_step_rank", 2)
      .u32("nemotron_h.ssm.group_count", 2);
  set_f32(w, "nemotron_h.attention.layer_norm_epsilon", 1e-4f);
  f32_matrix(w, "token_embd.weight", 8, 5);
  w.f32("output_norm.weight", 8).f32("blk.0.attn_norm.weight", 8).f32("blk.0.ssm_dt.bias", 2);
  f32_matrix(w, "blk.0.ssm_in.weight", 8, 12 + 24 + 2);
  f32_matrix(w, "blk.0.ssm_conv1d.weight", 4, 24);
  f32_matrix(w, "blk.0.ssm_a", 1, 2);
  f32_matrix(w, "blk.0.ssm_d", 1, 2);
  f32_matrix(w, "blk.0.ssm_norm.weight", 6, 2);
  f32_matrix(w, "blk.0.ssm_out.weight", 12, 8);
  return w;
}

TEST(BuildProgram, RecordsAMamba2Layer) {
  const auto program = build(tiny_nemotron_h());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->kv_layers.empty());
  // The convolution's last three inputs; two heads of three rows, their six columns padded.
  EXPECT_EQ(program->state_parts, (std::vector<uint32_t>{3 * 24, 2 * 3 * 16}));
  for (const ops::Op& op : program->ops) {
    if (const auto* norm = std::get_if<ops::RmsNorm>(&op)) {
      EXPECT_EQ(norm->eps, 1e-4f);
    }
  }
}

TEST(BuildProgram, RefusesMamba2SizesThatCannotBe) {
  TestWriter w = tiny_nemotron_h();
  set_u32(w, "nemotron_h.ssm.time_step_rank", 5);
  auto program = build(w);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(program.error().message.find("nemotron_h.ssm.inner_size is 12, of 5 heads"),
            std::string::npos)
      << program.error().message;
  w = tiny_nemotron_h();
  set_u32(w, "nemotron_h.ssm.conv_kernel", 9);
  program = build(w);
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("ssm.conv_kernel is 9, expected 2 to 8"),
            std::string::npos)
      << program.error().message;
}

// Gemma 4: layer 0 with a window, heads of 4; layer 1 without, a head of 8 whose keys are its
// values; layers 2 and 3 read those of 0 and 1, though the file has keys for the former.
TestWriter tiny_gemma4() {
  TestWriter w;
  w.string("general.architecture", "gemma4")
      .u32("gemma4.block_count", 4)
      .u32("gemma4.context_length", 64)
      .u32("gemma4.embedding_length", 8)
      .u32("gemma4.feed_forward_length", 12)
      .u32("gemma4.attention.head_count", 2)
      .u32("gemma4.attention.head_count_kv", 1)
      .u32("gemma4.attention.key_length", 8)
      .u32("gemma4.attention.value_length", 8)
      .u32("gemma4.attention.key_length_swa", 4)
      .u32("gemma4.attention.value_length_swa", 4)
      .u32("gemma4.attention.sliding_window", 20)
      .u32("gemma4.attention.sliding_window_pattern", 2)
      .u32("gemma4.attention.shared_kv_layers", 2)
      .u32("gemma4.embedding_length_per_layer_input", 3);
  set_f32(w, "gemma4.attention.layer_norm_rms_epsilon", 1e-6f);
  f32_matrix(w, "token_embd.weight", 8, 5);
  f32_matrix(w, "per_layer_token_embd.weight", 12, 5);
  f32_matrix(w, "per_layer_model_proj.weight", 8, 12);
  w.f32("per_layer_proj_norm.weight", 3)
      .f32("output_norm.weight", 8)
      .f32("rope_freqs.weight", 4, 1);
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string blk = fmt::format("blk.{}.", i);
    const uint64_t head_dim = i % 2 == 0 ? 4 : 8;
    for (const char* norm :
         {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"})
      w.f32(fmt::format("{}{}.weight", blk, norm), 8);
    f32_matrix(w, blk + "attn_q.weight", 8, 2 * head_dim);
    w.f32(blk + "attn_q_norm.weight", head_dim);
    if (i < 3) {
      f32_matrix(w, blk + "attn_k.weight", 8, head_dim);
      w.f32(blk + "attn_k_norm.weight", head_dim);
    }
    if (i == 0) f32_matrix(w, blk + "attn_v.weight", 8, head_dim);
    f32_matrix(w, blk + "attn_output.weight", 2 * head_dim, 8);
    f32_matrix(w, blk + "ffn_gate.weight", 8, 12);
    f32_matrix(w, blk + "ffn_up.weight", 8, 12);
    f32_matrix(w, blk + "ffn_down.weight", 12, 8);
    f32_matrix(w, blk + "inp_gate.weight", 8, 3);
    f32_matrix(w, blk + "proj.weight", 3, 8);
    w.f32(blk + "layer_output_scale.weight", 1, 0.5f);
  }
  return w;
}

TEST(BuildProgram, LayersThatShareKeysKeepNone) {
  const auto program = build(tiny_gemma4());
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->kv_layers.size(), 2u);
  EXPECT_EQ(program->kv_layers[0].head_dim, 4u);
  EXPECT_EQ(program->kv_layers[1].head_dim, 8u);
  EXPECT_EQ(ops::kv_windows(*program), (std::vector<uint32_t>{20, 0}));
  std::vector<std::pair<uint32_t, bool>> appends;
  for (const ops::Op& op : program->ops) {
    if (const auto* append = std::get_if<ops::RopeAppend>(&op))
      appends.emplace_back(append->kv_layer, append->append);
  }
  EXPECT_EQ(appends,
            (std::vector<std::pair<uint32_t, bool>>{{0, true}, {1, true}, {0, false}, {1, false}}));
}

TEST(BuildProgram, RefusesGemma4FilesThatCannotBe) {
  const std::vector<Refusal> refusals = {
      {"all layers share",
       [](TestWriter& w) { set_u32(w, "gemma4.attention.shared_kv_layers", 4); },
       ErrorCode::kCorrupt,
       {"shared_kv_layers is 4 of 4 layers"}},
      {"no layer of the kind keeps any",
       [](TestWriter& w) { set_u32(w, "gemma4.attention.shared_kv_layers", 3); },
       ErrorCode::kCorrupt,
       {"shared_kv_layers is 3", "first 1 layers", "layer 1"}},
      {"heads of two lengths in one layer",
       [](TestWriter& w) { set_u32(w, "gemma4.attention.value_length_swa", 8); },
       ErrorCode::kUnsupported,
       {"key length 4 and value length 8"}},
      {"no window",
       [](TestWriter& w) { set_u32(w, "gemma4.attention.sliding_window", 0); },
       ErrorCode::kCorrupt,
       {"gemma4.attention.sliding_window is 0"}},
      {"no values where there is a window",
       [](TestWriter& w) { remove_tensor(w, "blk.0.attn_v.weight"); },
       ErrorCode::kCorrupt,
       {"blk.0.attn_v.weight", "missing"}},
      {"a rope longer than a head",
       [](TestWriter& w) { w.u32("gemma4.rope.dimension_count_swa", 6); },
       ErrorCode::kCorrupt,
       {"rope.dimension_count_swa 6"}},
      {"a second embedding of another width",
       [](TestWriter& w) { set_u32(w, "gemma4.embedding_length_per_layer_input", 4); },
       ErrorCode::kCorrupt,
       {"per_layer_token_embd.weight is [12, 5, 1, 1], expected [16, 5]"}},
  };
  expect_refusals(tiny_gemma4, refusals);
}

// Expected values: transformers 5.24, ROPE_INIT_FUNCTIONS["yarn"], head size 64, theta 1e6, factor
// 4, 32768 before.
TEST(ReadRope, YarnIsTransformers) {
  TestWriter w = tiny_qwen2();
  w.string("qwen2.rope.scaling.type", "yarn");
  set_f32(w, "qwen2.rope.scaling.factor", 4.0f);
  w.u32("qwen2.rope.scaling.original_context_length", 32768);
  const auto file = gguf::File::from_bytes(w.build());
  ASSERT_TRUE(file);
  const auto reader = Reader::create(*file, "qwen2", 64);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto rope = read_rope(*reader, {.base = 1e6, .n_dims = 64, .neox = true});
  ASSERT_TRUE(rope) << rope.error().message;
  EXPECT_NEAR(rope->magnitude, 1.138629436111989, 1e-6);
  const std::vector<std::pair<size_t, double>> want = {{0, 1.0},
                                                       {1, 0.6493816375732422},
                                                       {10, 0.01333521492779255},
                                                       {11, 0.00865964312106371},
                                                       {12, 0.005154795479029417},
                                                       {15, 0.001026617712341249},
                                                       {19, 9.128064994001761e-05},
                                                       {20, 4.4456985051510856e-05},
                                                       {31, 3.8498163235090033e-07}};
  for (const auto& [i, value] : want) EXPECT_NEAR(rope->inv_freq[i] / value, 1.0, 2e-6) << i;
}

}  // namespace
}  // namespace tempo9::models
