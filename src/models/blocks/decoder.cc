#include "models/blocks/decoder.h"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace tempo9::models {

Result<ops::MatrixId> add_matrix(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n_in, uint32_t n_out) {
  T9_TRY(ops::Matrix matrix, reader.matrix(name, n_in, n_out));
  return program.add_matrix(std::move(matrix));
}

Result<ops::VectorId> add_vector(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n) {
  T9_TRY(std::vector<float> values, reader.vector(name, n));
  return program.add_vector(std::move(values));
}

Result<ops::VectorId> add_optional_vector(const Reader& reader, ops::Program& program,
                                          const std::string& name, uint32_t n) {
  if (!reader.has(name)) return ops::VectorId{};
  return add_vector(reader, program, name, n);
}

Result<Embeddings> add_embeddings(const Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  Embeddings embeddings;
  T9_TRY(embeddings.input,
         add_matrix(reader, program, "token_embd.weight", c.hidden_size, c.n_vocab));
  embeddings.output = embeddings.input;
  if (reader.has("output.weight")) {
    T9_TRY(embeddings.output,
           add_matrix(reader, program, "output.weight", c.hidden_size, c.n_vocab));
  }
  return embeddings;
}

namespace {

// The biases of matrices that are computed together as one vector in their order, zeros for those
// that are missing;
// {} if all are.
Result<ops::VectorId> joined_bias(
    const Reader& reader, ops::Program& program, uint32_t layer,
    std::initializer_list<std::pair<std::string_view, uint32_t>> parts) {
  std::vector<float> joined;
  bool any = false;
  for (const auto& [name, width] : parts) {
    T9_TRY(const auto part, reader.optional_vector(Reader::layer_name(layer, name), width));
    any = any || part.has_value();
    const std::vector<float> zeros(part ? 0 : width);
    joined.insert(joined.end(), part ? part->begin() : zeros.begin(),
                  part ? part->end() : zeros.end());
  }
  return any ? program.add_vector(std::move(joined)) : ops::VectorId{};
}

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

  std::vector<ops::MatrixId> weights;
  if (reader.has(name("attn_qkv.weight"))) {
    T9_TRY(const auto qkv, add_matrix(reader, program, name("attn_qkv.weight"), c.hidden_size,
                                      q_width + 2 * kv_width));
    weights = {qkv};
  } else {
    T9_TRY(const auto q,
           add_matrix(reader, program, name("attn_q.weight"), c.hidden_size, q_width));
    T9_TRY(const auto k,
           add_matrix(reader, program, name("attn_k.weight"), c.hidden_size, kv_width));
    T9_TRY(const auto v,
           add_matrix(reader, program, name("attn_v.weight"), c.hidden_size, kv_width));
    weights = {q, k, v};
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
  return program.attention(qkv, kv_layer, c.n_heads[spec.layer], spec.scale, spec.window);
}

Result<ops::TensorId> gated_mlp_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                      uint32_t layer, ops::Activation activation) {
  const Config& c = reader.config();
  const uint32_t width = c.intermediate_size[layer];
  T9_TRY(const auto gate, add_matrix(reader, program, Reader::layer_name(layer, "ffn_gate.weight"),
                                     c.hidden_size, width));
  T9_TRY(const auto up, add_matrix(reader, program, Reader::layer_name(layer, "ffn_up.weight"),
                                   c.hidden_size, width));
  T9_TRY(const auto bias,
         joined_bias(reader, program, layer, {{"ffn_gate.bias", width}, {"ffn_up.bias", width}}));
  return program.gated_activation(program.linear(x, {gate, up}, bias), activation);
}

}  // namespace tempo9::models
