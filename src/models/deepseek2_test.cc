// What DeepSeek files become: heads' matrices split or as they are, scores' scale, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "gguf/test_writer.h"
#include "models/models.h"
#include "quant/half.h"

namespace tempo9::models {
namespace {

using gguf::TestWriter;

// Numbers 0, 1, 2, ... in quarters.
TestWriter& counted(TestWriter& w, const std::string& name, std::vector<uint64_t> ne) {
  size_t n = 1;
  for (const uint64_t size : ne) n *= size;
  std::vector<uint8_t> bytes(4 * n);
  for (size_t i = 0; i < n; ++i) {
    const float value = 0.25f * static_cast<float>(i);
    std::memcpy(&bytes[4 * i], &value, 4);
  }
  return w.tensor({name, std::move(ne), 0, std::move(bytes), {}, {}});
}

// One dense layer: 2 heads of 3 + 4 and values of 2, latent rows of 6 + 4.
TestWriter tiny_deepseek(bool joined) {
  TestWriter w;
  w.string("general.architecture", "deepseek2")
      .u32("deepseek2.block_count", 1)
      .u32("deepseek2.context_length", 64)
      .u32("deepseek2.embedding_length", 8)
      .u32("deepseek2.feed_forward_length", 12)
      .u32("deepseek2.attention.head_count", 2)
      .u32("deepseek2.attention.kv_lora_rank", 6)
      .u32("deepseek2.rope.dimension_count", 4);
  if (joined) {
    w.u32("deepseek2.attention.key_length", 7).u32("deepseek2.attention.value_length", 2);
  } else {
    w.u32("deepseek2.attention.head_count_kv", 1)
        .u32("deepseek2.attention.key_length", 10)
        .u32("deepseek2.attention.value_length", 6)
        .u32("deepseek2.attention.key_length_mla", 7)
        .u32("deepseek2.attention.value_length_mla", 2);
  }
  set_f32(w, "deepseek2.attention.layer_norm_rms_epsilon", 1e-3f);
  counted(w, "token_embd.weight", {8, 5});
  w.f32("output_norm.weight", 8).f32("blk.0.attn_norm.weight", 8).f32("blk.0.ffn_norm.weight", 8);
  w.f32("blk.0.attn_kv_a_norm.weight", 6);
  counted(w, "blk.0.attn_q.weight", {8, 14});
  counted(w, "blk.0.attn_kv_a_mqa.weight", {8, 10});
  if (joined) {
    counted(w, "blk.0.attn_kv_b.weight", {6, 2 * (3 + 2)});
  } else {
    counted(w, "blk.0.attn_k_b.weight", {3, 6, 2});
    counted(w, "blk.0.attn_v_b.weight", {6, 2, 2});
  }
  counted(w, "blk.0.attn_output.weight", {4, 8});
  counted(w, "blk.0.ffn_gate.weight", {8, 12});
  counted(w, "blk.0.ffn_up.weight", {8, 12});
  counted(w, "blk.0.ffn_down.weight", {12, 8});
  return w;
}

// A program and the file whose bytes it borrows.
struct Built {
  gguf::File file;
  Result<ops::Program> program;
};
Built build_from(const TestWriter& w) {
  auto file = gguf::File::from_bytes(w.build());
  EXPECT_TRUE(file) << file.error().message;
  auto program = build_program(*file);
  return {std::move(*file), std::move(program)};
}

template <class Op>
std::vector<Op> all_of(const ops::Program& program) {
  std::vector<Op> found;
  for (const ops::Op& op : program.ops)
    if (const auto* one = std::get_if<Op>(&op)) found.push_back(*one);
  return found;
}
const ops::Matrix& matrix_of(const ops::Program& program, const ops::HeadLinear& op) {
  return program.matrices[static_cast<size_t>(op.matrix.index)];
}

TEST(DeepSeek, KeepsOneLatentRowForAllHeads) {
  const Built built = build_from(tiny_deepseek(false));
  ASSERT_TRUE(built.program) << built.program.error().message;
  const ops::Program& program = *built.program;
  ASSERT_EQ(program.kv_layers.size(), 1u);
  EXPECT_EQ(program.kv_layers[0].n_kv_heads, 1u);
  EXPECT_EQ(program.kv_layers[0].head_dim, 10u);
  EXPECT_EQ(program.kv_layers[0].value_dim(), 6u);
  EXPECT_FALSE(program.ropes[0].neox);
  const auto append = all_of<ops::LatentAppend>(program).at(0);
  EXPECT_EQ(append.norm_eps, 1e-6f) << "the originals fix it";
  const auto attention = all_of<ops::Attention>(program).at(0);
  EXPECT_NEAR(attention.scale, 1 / std::sqrt(7.0), 1e-7);
  EXPECT_TRUE(program.made.empty());
}

TEST(DeepSeek, YarnMakesScoresLarger) {
  TestWriter w = tiny_deepseek(false);
  w.string("deepseek2.rope.scaling.type", "yarn");
  set_f32(w, "deepseek2.rope.scaling.factor", 40.0f);
  set_f32(w, "deepseek2.rope.scaling.yarn_log_multiplier", 0.0707f);
  w.u32("deepseek2.rope.scaling.original_context_length", 4096);
  const Built built = build_from(w);
  ASSERT_TRUE(built.program) << built.program.error().message;
  // DeepSeek-V2's numbers: m = 0.1 * 0.707 * ln 40 + 1 = 1.2608, twice.
  const auto attention = all_of<ops::Attention>(*built.program).at(0);
  EXPECT_NEAR(attention.scale * std::sqrt(7.0), 1.2608037 * 1.2608037, 1e-5);
  EXPECT_EQ(built.program->ropes[0].magnitude, 1.0f);
}

// Row r of head h in the joined tensor holds quarters from ((3 + 2) h + r) * 6 on.
TEST(DeepSeek, SplitsAJoinedTensor) {
  const Built built = build_from(tiny_deepseek(true));
  ASSERT_TRUE(built.program) << built.program.error().message;
  const auto heads = all_of<ops::HeadLinear>(*built.program);
  ASSERT_EQ(heads.size(), 2u);
  const ops::Matrix& query = matrix_of(*built.program, heads[0]);
  const ops::Matrix& value = matrix_of(*built.program, heads[1]);
  ASSERT_EQ(query.type, DType::kF32);
  EXPECT_EQ(query.n_in, 3u);
  EXPECT_EQ(query.n_out, 6u);
  EXPECT_EQ(query.n_experts, 2u);
  ASSERT_EQ(query.data.size(), 4u * 3 * 6 * 2);
  EXPECT_EQ(value.n_in, 6u);
  EXPECT_EQ(value.n_out, 2u);
  ASSERT_EQ(value.data.size(), 4u * 6 * 2 * 2);
  const auto at = [](const ops::Matrix& m, size_t i) {
    float x;
    std::memcpy(&x, m.data.data() + 4 * i, 4);
    return x;
  };
  for (size_t head = 0; head < 2; ++head) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 6; ++j) {
        EXPECT_EQ(at(query, (head * 6 + j) * 3 + i),
                  0.25f * static_cast<float>((5 * head + i) * 6 + j));
      }
    }
    for (size_t i = 0; i < 2; ++i) {
      for (size_t j = 0; j < 6; ++j) {
        EXPECT_EQ(at(value, (head * 2 + i) * 6 + j),
                  0.25f * static_cast<float>((5 * head + 3 + i) * 6 + j));
      }
    }
  }
}

// The keys' part is turned, so its blocks are opened; the values' stays as it is.
TEST(DeepSeek, SplitsAJoinedTensorOfBlocks) {
  TestWriter w = tiny_deepseek(true);
  set_u32(w, "deepseek2.attention.kv_lora_rank", 32);
  std::erase_if(w.tensors,
                [](const auto& t) { return t.name.find("attn_kv") != std::string::npos; });
  w.f32("blk.0.attn_kv_a_norm.weight", 32);
  counted(w, "blk.0.attn_kv_a_mqa.weight", {8, 36});
  std::vector<uint8_t> q8(10 * 34);
  for (size_t row = 0; row < 10; ++row) {
    const uint16_t half = quant::f32_to_f16(0.5f);
    std::memcpy(&q8[34 * row], &half, 2);
    for (size_t j = 0; j < 32; ++j) q8[34 * row + 2 + j] = static_cast<uint8_t>(row * 4 + j);
  }
  w.tensor({"blk.0.attn_kv_b.weight", {32, 10}, 8, q8, {}, {}});
  const Built built = build_from(w);
  ASSERT_TRUE(built.program) << built.program.error().message;
  const auto heads = all_of<ops::HeadLinear>(*built.program);
  const ops::Matrix& query = matrix_of(*built.program, heads[0]);
  const ops::Matrix& value = matrix_of(*built.program, heads[1]);
  EXPECT_EQ(query.type, DType::kF16);
  EXPECT_EQ(value.type, DType::kQ8_0);
  for (size_t head = 0; head < 2; ++head) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 32; ++j) {
        uint16_t half;
        std::memcpy(&half, query.data.data() + 2 * ((head * 32 + j) * 3 + i), 2);
        EXPECT_EQ(quant::f16_to_f32(half), 0.5f * static_cast<float>((5 * head + i) * 4 + j));
      }
    }
    EXPECT_EQ(std::memcmp(value.data.data() + head * 2 * 34, &q8[(5 * head + 3) * 34], 2 * 34), 0);
  }
}

// Four experts in two groups in the place of the dense MLP.
TestWriter with_experts(bool biased) {
  TestWriter w = tiny_deepseek(false);
  std::erase_if(w.tensors, [](const auto& t) { return t.name.find(".ffn_") < t.name.size(); });
  w.u32("deepseek2.expert_count", 4)
      .u32("deepseek2.expert_used_count", 2)
      .u32("deepseek2.expert_feed_forward_length", 12)
      .u32("deepseek2.expert_group_count", 2)
      .u32("deepseek2.expert_group_used_count", 1);
  w.f32("blk.0.ffn_norm.weight", 8);
  counted(w, "blk.0.ffn_gate_inp.weight", {8, 4});
  if (biased) w.f32("blk.0.exp_probs_b.bias", 4);
  counted(w, "blk.0.ffn_gate_exps.weight", {8, 12, 4});
  counted(w, "blk.0.ffn_up_exps.weight", {8, 12, 4});
  counted(w, "blk.0.ffn_down_exps.weight", {12, 8, 4});
  return w;
}

TEST(DeepSeek, RoutersOfV2AndV3) {
  const Built v2 = build_from(with_experts(false)), v3 = build_from(with_experts(true));
  ASSERT_TRUE(v2.program) << v2.program.error().message;
  ASSERT_TRUE(v3.program) << v3.program.error().message;
  const auto plain = all_of<ops::Route>(*v2.program).at(0);
  EXPECT_EQ(plain.gating, ops::Gating::kSoftmax);
  EXPECT_EQ(plain.n_group_best, 1u);
  EXPECT_FALSE(plain.normalise);
  const auto biased = all_of<ops::Route>(*v3.program).at(0);
  EXPECT_EQ(biased.gating, ops::Gating::kSigmoid);
  EXPECT_EQ(biased.n_group_best, 2u);
}

TEST(DeepSeek, LayersForDraftsAreNoneOfItsOwn) {
  TestWriter w = tiny_deepseek(false);
  set_u32(w, "deepseek2.block_count", 2);
  w.u32("deepseek2.nextn_predict_layers", 1);
  counted(w, "blk.1.nextn.eh_proj.weight", {16, 8});
  w.f32("blk.1.nextn.enorm.weight", 8).f32("blk.1.nextn.hnorm.weight", 8);
  const Built built = build_from(w);
  ASSERT_TRUE(built.program) << built.program.error().message;
  EXPECT_EQ(built.program->kv_layers.size(), 1u);
  EXPECT_EQ(built.program->draft_layers.size(), 1u);
}

TEST(DeepSeek, RefusesSizesThatDoNotFit) {
  const auto message = [](const std::string& key, uint32_t value) {
    TestWriter w = tiny_deepseek(false);
    set_u32(w, "deepseek2." + key, value);
    const Built built = build_from(w);
    EXPECT_FALSE(built.program) << key;
    EXPECT_EQ(built.program.error().code, ErrorCode::kCorrupt);
    return built.program.error().message;
  };
  const auto holds = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  holds(message("attention.kv_lora_rank", 0), "attention.kv_lora_rank is 0, expected 1 to 1024");
  holds(message("attention.kv_lora_rank", 1022), "heads of 7 of which 4 rotate");
  holds(message("attention.key_length_mla", 4), "heads of 4 of which 4 rotate");
  holds(message("attention.value_length_mla", 3), "blk.0.attn_v_b.weight");
  holds(message("rope.dimension_count", 0), "of which 0 rotate");
}

}  // namespace
}  // namespace tempo9::models
