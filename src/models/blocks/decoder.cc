#include "models/blocks/decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tempo9::models {

Result<ops::MatrixId> add_matrix(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n_in, uint32_t n_out,
                                 float scale) {
  T9_TRY(ops::Matrix matrix, reader.matrix(name, n_in, n_out));
  matrix.scale *= scale;
  return program.add_matrix(std::move(matrix));
}

ops::Matrix rows_of(const ops::Matrix& matrix, uint32_t first, uint32_t n) {
  const size_t row_bytes = matrix.data.size() / matrix.n_out;
  ops::Matrix rows = matrix;
  rows.n_out = n;
  rows.data = matrix.data.subspan(first * row_bytes, n * row_bytes);
  return rows;
}

Result<ops::VectorId> add_vector(const Reader& reader, ops::Program& program,
                                 const std::string& name, uint32_t n, float scale) {
  T9_TRY(std::vector<float> values, reader.vector(name, n));
  for (float& value : values) value *= scale;
  return program.add_vector(std::move(values));
}

Result<ops::VectorId> add_optional_vector(const Reader& reader, ops::Program& program,
                                          const std::string& name, uint32_t n, float scale) {
  if (!reader.has(name)) return ops::VectorId{};
  return add_vector(reader, program, name, n, scale);
}

Result<ops::VectorId> joined_bias(const Reader& reader, ops::Program& program, uint32_t layer,
                                  const std::vector<BiasPart>& parts, uint32_t rows) {
  size_t width = 0, column = 0;
  for (const BiasPart& part : parts) width += part.width;
  std::vector<float> joined(width * rows);
  bool any = false;
  for (const auto& [part, part_width] : parts) {
    const std::string name = Reader::layer_name(layer, part);
    if (reader.has(name)) {
      any = true;
      T9_TRY(const std::vector<float> values, reader.vector(name, part_width, rows));
      for (size_t row = 0; row < rows; ++row) {
        std::copy_n(values.begin() + static_cast<ptrdiff_t>(row * part_width), part_width,
                    joined.begin() + static_cast<ptrdiff_t>(row * width + column));
      }
    }
    column += part_width;
  }
  return any ? program.add_vector(std::move(joined)) : ops::VectorId{};
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

DecoderSpec plain_decoder(const Config& config) {
  DecoderSpec spec;
  spec.layers.resize(config.n_layers);
  spec.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  return spec;
}

Result<std::vector<uint32_t>> read_windows(const Reader& reader, uint32_t period) {
  const uint32_t n_layers = reader.config().n_layers;
  T9_TRY(const uint64_t window, reader.file().get_uint(reader.key("attention.sliding_window"), 0));
  const auto size = static_cast<uint32_t>(std::min<uint64_t>(window, UINT32_MAX));
  const std::string key = reader.key("attention.sliding_window_pattern");
  std::vector<uint32_t> windows(n_layers);
  const gguf::Value* value = reader.file().find(key);
  if (value != nullptr && std::holds_alternative<gguf::Array>(*value)) {
    T9_TRY(const auto flags, reader.file().get_ints(key));
    if (flags.size() < n_layers) {
      return make_error(ErrorCode::kCorrupt, "{}: {} has {} entries, expected {}",
                        reader.file().path(), key, flags.size(), n_layers);
    }
    for (uint32_t i = 0; i < n_layers; ++i) windows[i] = flags[i] != 0 ? size : 0;
    return windows;
  }
  T9_TRY(const uint64_t n, reader.file().get_uint(key, period));
  for (uint32_t i = 0; i < n_layers; ++i) windows[i] = n > 0 && i % n < n - 1 ? size : 0;
  return windows;
}

namespace {

Result<Mixed> attention_of(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                           ops::TensorId x, uint32_t layer) {
  const DecoderSpec::Layer& own = spec.layers[layer];
  T9_TRY(const auto attended, attention_block(reader, program, x,
                                              {.layer = layer,
                                               .rope = own.rope,
                                               .head_dim = own.head_dim,
                                               .kv_layer = own.kv_layer,
                                               .v_norm = spec.v_norm,
                                               .k_may_be_v = own.k_may_be_v,
                                               .scale = spec.attention_scale,
                                               .window = own.window,
                                               .softcap = spec.attention_softcap,
                                               .causal = spec.causal,
                                               .gated = spec.attention_gate}));
  return Mixed{attended, "attn_output", program.widths[static_cast<size_t>(attended.index)]};
}

}  // namespace

Status record_attention(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                        ops::TensorId x, uint32_t layer) {
  const Config& c = reader.config();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const auto norm, add_vector(reader, program, name("attn_norm.weight"), c.hidden_size));
  const ops::TensorId h = program.rms_norm(x, norm, c.norm_eps);
  const Mixer& mixer = spec.layers[layer].mixer;
  T9_TRY(const Mixed mixed,
         mixer ? mixer(reader, program, h, layer) : attention_of(reader, program, spec, h, layer));
  const auto part = [&](std::string_view kind) {
    return name(fmt::format("{}.{}", mixed.projection, kind));
  };
  T9_TRY(const auto output, add_matrix(reader, program, part("weight"), mixed.width, c.hidden_size,
                                       spec.residual_scale));
  T9_TRY(const auto bias,
         add_optional_vector(reader, program, part("bias"), c.hidden_size, spec.residual_scale));
  if (!spec.post_norms) {
    program.add_linear(x, mixed.out, output, bias);
    return {};
  }
  T9_TRY(const auto post_norm,
         add_vector(reader, program, name("post_attention_norm.weight"), c.hidden_size));
  program.add_rms_norm(x, program.linear(mixed.out, {output}, bias), post_norm, c.norm_eps);
  return {};
}

Status record_mlp(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                  ops::TensorId x, uint32_t layer) {
  const Config& c = reader.config();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const auto norm, add_vector(reader, program, name(spec.mlp_norm), c.hidden_size));
  const ops::TensorId h = program.rms_norm(x, norm, c.norm_eps);
  if (reader.has(name("ffn_gate_inp.weight"))) {
    MoeSpec moe = spec.moe;
    moe.scale = spec.residual_scale;
    return add_moe(reader, program, x, h, layer, moe);
  }
  const MlpSpec mlp{.width = c.intermediate_size[layer],
                    .activation = spec.activation,
                    .scale = spec.residual_scale};
  if (!spec.post_norms) return add_mlp(reader, program, x, h, layer, mlp);
  T9_TRY(const auto inner, mlp_block(reader, program, h, layer, mlp));
  T9_TRY(const auto down,
         add_matrix(reader, program, name("ffn_down.weight"), mlp.width, c.hidden_size));
  T9_TRY(const auto post_norm,
         add_vector(reader, program, name("post_ffw_norm.weight"), c.hidden_size));
  program.add_rms_norm(x, program.linear(inner, {down}), post_norm, c.norm_eps);
  return {};
}

namespace {

// What embedding models may have behind the last norm: one or two products without bias or
// activation. The originals pool first, but a product of a mean is the mean of the products.
Result<ops::TensorId> dense_heads(const Reader& reader, ops::Program& program, ops::TensorId x) {
  uint32_t width = reader.config().hidden_size;
  for (const char* name : {"dense_2.weight", "dense_3.weight"}) {
    const gguf::Tensor* tensor = reader.file().find_tensor(name);
    if (tensor == nullptr) continue;
    const auto n_out = static_cast<uint32_t>(std::min<uint64_t>(tensor->ne[1], 1u << 20));
    T9_TRY(const auto matrix, add_matrix(reader, program, name, width, n_out));
    x = program.linear(x, {matrix});
    width = n_out;
  }
  return x;
}

}  // namespace

Status record_decoder(const Reader& reader, ops::Program& program, const DecoderSpec& spec) {
  T9_TRY(const auto embeddings, add_embeddings(reader, program));
  const ops::TensorId x = program.embed(embeddings.input, spec.embedding_scale);
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    T9_TRY(record_attention(reader, program, spec, x, layer));
    T9_TRY(record_mlp(reader, program, spec, x, layer));
  }
  return record_end(reader, program, spec, x, embeddings.output);
}

Status record_end(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                  ops::TensorId x, ops::MatrixId head) {
  const Config& c = reader.config();
  T9_TRY(const auto norm, add_vector(reader, program, std::string(spec.final_norm), c.hidden_size,
                                     spec.logit_scale));
  const ops::TensorId states = program.rms_norm(program.select_rows(x), norm, c.norm_eps);
  if (spec.causal) {
    program.head(states, head, spec.logit_softcap);
  } else {
    T9_TRY(const auto pooled, dense_heads(reader, program, states));
    program.end_without_head(pooled);
  }
  return reader.check_all_used();
}

}  // namespace tempo9::models
