#include "models/blocks/decoder.h"

namespace tempo9::models {
namespace {

Result<ops::VectorId> qkv_bias(const Reader& reader, ops::Program& program, uint32_t layer,
                               uint32_t q_width, uint32_t kv_width) {
  const std::string fused = Reader::layer_name(layer, "attn_qkv.bias");
  if (reader.has(fused)) return add_vector(reader, program, fused, q_width + 2 * kv_width);
  return joined_bias(
      reader, program, layer,
      {{"attn_q.bias", q_width}, {"attn_k.bias", kv_width}, {"attn_v.bias", kv_width}});
}

}  // namespace

Result<ops::TensorId> attention_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                      const AttentionSpec& spec) {
  const Config& c = reader.config();
  const uint32_t q_width = c.n_heads[spec.layer] * c.head_dim;
  const uint32_t kv_width = c.n_kv_heads[spec.layer] * c.head_dim;
  const auto name = [&](std::string_view part) { return Reader::layer_name(spec.layer, part); };
  if (kv_width == 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: {} of layer {} is 0, but this architecture has attention in that layer",
                      reader.file().path(), reader.key("attention.head_count_kv"), spec.layer);
  }

  std::vector<ops::MatrixId> weights, gates;
  if (reader.has(name("attn_qkv.weight"))) {
    T9_TRY(const auto qkv, add_matrix(reader, program, name("attn_qkv.weight"), c.hidden_size,
                                      q_width + 2 * kv_width));
    weights = {qkv};
  } else {
    if (spec.gated) {
      T9_TRY(const ops::Matrix q, reader.matrix(name("attn_q.weight"), c.hidden_size, 2 * q_width));
      for (uint32_t row = 0; row < 2 * q_width; row += 2 * c.head_dim) {
        weights.push_back(program.add_matrix(rows_of(q, row, c.head_dim)));
        gates.push_back(program.add_matrix(rows_of(q, row + c.head_dim, c.head_dim)));
      }
    } else {
      T9_TRY(const auto q,
             add_matrix(reader, program, name("attn_q.weight"), c.hidden_size, q_width));
      weights.push_back(q);
    }
    T9_TRY(const auto k,
           add_matrix(reader, program, name("attn_k.weight"), c.hidden_size, kv_width));
    T9_TRY(const auto v,
           add_matrix(reader, program, name("attn_v.weight"), c.hidden_size, kv_width));
    weights.push_back(k);
    weights.push_back(v);
  }
  T9_TRY(const auto bias, qkv_bias(reader, program, spec.layer, q_width, kv_width));
  T9_TRY(const auto q_norm,
         add_optional_vector(reader, program, name("attn_q_norm.weight"), c.head_dim));
  T9_TRY(const auto k_norm,
         add_optional_vector(reader, program, name("attn_k_norm.weight"), c.head_dim));

  program.kv_layers.push_back({c.n_kv_heads[spec.layer], c.head_dim});
  const auto kv_layer = static_cast<uint32_t>(program.kv_layers.size()) - 1;
  const ops::TensorId qkv = program.linear(x, weights, bias);
  program.rope_append({.qkv = qkv,
                       .kv_layer = kv_layer,
                       .n_heads = c.n_heads[spec.layer],
                       .q_norm = q_norm,
                       .k_norm = k_norm,
                       .norm_eps = c.norm_eps,
                       .rope = spec.rope});
  T9_TRY(const auto sinks,
         add_optional_vector(reader, program, name("attn_sinks.weight"), c.n_heads[spec.layer]));
  const ops::TensorId attended = program.attention({.qkv = qkv,
                                                    .kv_layer = kv_layer,
                                                    .n_heads = c.n_heads[spec.layer],
                                                    .scale = spec.scale,
                                                    .window = spec.window,
                                                    .causal = spec.causal,
                                                    .softcap = spec.softcap,
                                                    .sinks = sinks});
  return spec.gated ? program.sigmoid_gate(attended, program.linear(x, gates)) : attended;
}

}  // namespace tempo9::models
