// Nemotron-H, dense (nemotron_h) and with experts (nemotron_h_moe, Nemotron 3): one mixer a layer,
// behind one norm: Mamba2, attention without any rope, or an MLP without a gate. Source:
// transformers' NemotronHForCausalLM.
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_nemotron_h(Reader& reader, ops::Program& program);

namespace {

Result<Mixed> nemotron_attention(const Reader& reader, ops::Program& program, ops::TensorId x,
                                 uint32_t layer) {
  const Config& c = reader.config();
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  T9_TRY(const auto attended,
         attention_block(reader, program, x, {.layer = layer, .scale = scale}));
  return Mixed{attended, "attn_output", c.n_heads[layer] * c.head_dim};
}

// residual += the projection of what attention or a Mamba2 gives.
Status add_mixed(const Reader& reader, ops::Program& program, ops::TensorId residual,
                 const Mixed& mixed, uint32_t layer) {
  const uint32_t hidden = reader.config().hidden_size;
  const std::string stem = Reader::layer_name(layer, mixed.projection);
  T9_TRY(const auto output, add_matrix(reader, program, stem + ".weight", mixed.width, hidden));
  T9_TRY(const auto bias, add_optional_vector(reader, program, stem + ".bias", hidden));
  program.add_linear(residual, mixed.out, output, bias);
  return {};
}

// Which of them a layer is, its sizes say.
Status add_nemotron_mixer(const Reader& reader, ops::Program& program, ops::TensorId residual,
                          ops::TensorId x, uint32_t layer) {
  const Config& c = reader.config();
  if (c.intermediate_size[layer] == 0) {
    const Mixer mixer = c.n_kv_heads[layer] > 0 ? nemotron_attention : mamba2_block;
    T9_TRY(const Mixed mixed, mixer(reader, program, x, layer));
    return add_mixed(reader, program, residual, mixed, layer);
  }
  if (reader.has(Reader::layer_name(layer, "ffn_gate_inp.weight"))) {
    return add_moe(reader, program, residual, x, layer,
                   {.gating = ops::Gating::kSigmoid, .gated = false});
  }
  return add_mlp(reader, program, residual, x, layer,
                 {.width = c.intermediate_size[layer], .gated = false});
}

}  // namespace

Status record_nemotron_h(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  program.ropes.emplace_back();  // that turns nothing
  T9_TRY(const auto embeddings, add_embeddings(reader, program));
  const ops::TensorId x = program.embed(embeddings.input, 1.0f);
  for (uint32_t layer = 0; layer < c.n_layers; ++layer) {
    T9_TRY(
        const auto norm,
        add_vector(reader, program, Reader::layer_name(layer, "attn_norm.weight"), c.hidden_size));
    T9_TRY(add_nemotron_mixer(reader, program, x, program.rms_norm(x, norm, c.norm_eps), layer));
  }
  T9_TRY(const auto norm, add_vector(reader, program, "output_norm.weight", c.hidden_size));
  program.head(program.rms_norm(program.select_rows(x), norm, c.norm_eps), embeddings.output);
  return reader.check_all_used();
}

}  // namespace tempo9::models
