#include "models/blocks/decoder.h"

namespace tempo9::models {
namespace {

struct Widths {
  uint32_t head, q, kv;
};

Result<ops::VectorId> qkv_bias(const Reader& reader, ops::Program& program, uint32_t layer,
                               const Widths& widths, std::string_view v) {
  const std::string fused = Reader::layer_name(layer, "attn_qkv.bias");
  if (reader.has(fused)) return add_vector(reader, program, fused, widths.q + 2 * widths.kv);
  std::vector<BiasPart> parts = {{"attn_q.bias", widths.q}};
  if (widths.kv > 0) {
    parts.push_back({"attn_k.bias", widths.kv});
    parts.push_back({v, widths.kv});
  }
  return joined_bias(reader, program, layer, parts);
}

// Keys and values come from elsewhere. Files may still hold what would make this layer's own.
Result<ops::TensorId> queries(const Reader& reader, ops::Program& program, ops::TensorId x,
                              uint32_t layer, const Widths& widths) {
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  for (const char* part :
       {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight", "attn_k.bias", "attn_v.bias"}) {
    reader.leave_out(name(part));
  }
  T9_TRY(const auto q,
         add_matrix(reader, program, name("attn_q.weight"), reader.config().hidden_size, widths.q));
  T9_TRY(const auto bias, qkv_bias(reader, program, layer, {widths.head, widths.q, 0}, {}));
  return program.linear(x, {q}, bias);
}

// The rows of queries, keys and values, and of the queries' gates where there are some.
struct Projections {
  std::vector<ops::MatrixId> qkv, gates;
  bool v_is_k = false;
};

Result<Projections> projections(const Reader& reader, ops::Program& program,
                                const AttentionSpec& spec, const Widths& widths) {
  const uint32_t hidden = reader.config().hidden_size;
  const auto name = [&](std::string_view part) { return Reader::layer_name(spec.layer, part); };
  Projections out;
  if (reader.has(name("attn_qkv.weight"))) {
    T9_TRY(const auto qkv,
           add_matrix(reader, program, name("attn_qkv.weight"), hidden, widths.q + 2 * widths.kv));
    out.qkv = {qkv};
    return out;
  }
  if (spec.gated) {
    T9_TRY(const ops::Matrix q, reader.matrix(name("attn_q.weight"), hidden, 2 * widths.q));
    for (uint32_t row = 0; row < 2 * widths.q; row += 2 * widths.head) {
      out.qkv.push_back(program.add_matrix(rows_of(q, row, widths.head)));
      out.gates.push_back(program.add_matrix(rows_of(q, row + widths.head, widths.head)));
    }
  } else {
    T9_TRY(const auto q, add_matrix(reader, program, name("attn_q.weight"), hidden, widths.q));
    out.qkv.push_back(q);
  }
  T9_TRY(const auto k, add_matrix(reader, program, name("attn_k.weight"), hidden, widths.kv));
  out.qkv.push_back(k);
  if (spec.k_may_be_v && !reader.has(name("attn_v.weight"))) {
    out.qkv.push_back(k);
    out.v_is_k = true;
    return out;
  }
  T9_TRY(const auto v, add_matrix(reader, program, name("attn_v.weight"), hidden, widths.kv));
  out.qkv.push_back(v);
  return out;
}

}  // namespace

Result<ops::TensorId> attention_block(const Reader& reader, ops::Program& program, ops::TensorId x,
                                      const AttentionSpec& spec) {
  const Config& c = reader.config();
  const uint32_t head_dim = spec.head_dim > 0 ? spec.head_dim : c.head_dim;
  const Widths widths = {head_dim, c.n_heads[spec.layer] * head_dim,
                         c.n_kv_heads[spec.layer] * head_dim};
  const auto name = [&](std::string_view part) { return Reader::layer_name(spec.layer, part); };
  if (widths.kv == 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: {} of layer {} is 0, but this architecture has attention in that layer",
                      reader.file().path(), reader.key("attention.head_count_kv"), spec.layer);
  }

  T9_TRY(const auto q_norm,
         add_optional_vector(reader, program, name("attn_q_norm.weight"), head_dim));
  ops::RopeAppend append = {.qkv = {},
                            .kv_layer = 0,
                            .n_heads = c.n_heads[spec.layer],
                            .q_norm = q_norm,
                            .k_norm = {},
                            .norm_eps = c.norm_eps,
                            .rope = spec.rope};
  std::vector<ops::MatrixId> gates;
  if (spec.kv_layer) {
    T9_TRY(append.qkv, queries(reader, program, x, spec.layer, widths));
    append.kv_layer = *spec.kv_layer;
    append.append = false;
  } else {
    T9_TRY(const Projections weights, projections(reader, program, spec, widths));
    T9_TRY(const auto bias, qkv_bias(reader, program, spec.layer, widths,
                                     weights.v_is_k ? "attn_k.bias" : "attn_v.bias"));
    T9_TRY(append.k_norm,
           add_optional_vector(reader, program, name("attn_k_norm.weight"), head_dim));
    if (spec.v_norm) append.v_norm = program.add_vector(std::vector<float>(head_dim, 1.0f));
    append.qkv = program.linear(x, weights.qkv, bias);
    append.kv_layer = static_cast<uint32_t>(program.kv_layers.size());
    program.kv_layers.push_back({c.n_kv_heads[spec.layer], head_dim});
    gates = weights.gates;
  }
  program.rope_append(append);
  T9_TRY(const auto sinks,
         add_optional_vector(reader, program, name("attn_sinks.weight"), c.n_heads[spec.layer]));
  const ops::TensorId attended = program.attention({.qkv = append.qkv,
                                                    .kv_layer = append.kv_layer,
                                                    .n_heads = c.n_heads[spec.layer],
                                                    .scale = spec.scale,
                                                    .window = spec.window,
                                                    .causal = spec.causal,
                                                    .softcap = spec.softcap,
                                                    .sinks = sinks});
  return spec.gated ? program.sigmoid_gate(attended, program.linear(x, gates)) : attended;
}

}  // namespace tempo9::models
