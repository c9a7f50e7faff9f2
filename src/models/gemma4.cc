// Gemma 4, text. Layers with a window and those without differ in their heads' number and length,
// and in their rope. The last layers may read the keys and values of earlier ones. A small second
// embedding enters every layer (E2B, E4B); an MLP and experts may stand side by side (26B-A4B).
// Source: transformers' Gemma4ForCausalLM. Norm weights are what they seem.
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_gemma4(Reader& reader, ops::Program& program);

namespace {

Status read_ropes(const Reader& reader, ops::Program& program, uint32_t window_head_dim) {
  const gguf::File& file = reader.file();
  T9_TRY(const double base, file.get_float(reader.key("rope.freq_base_swa"), 10000.0));
  T9_TRY(const uint64_t n_dims,
         file.get_uint(reader.key("rope.dimension_count_swa"), window_head_dim));
  if (!(base > 1.0 && base < 1e12) || n_dims > window_head_dim || n_dims % 2 != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: rope.freq_base_swa {} or rope.dimension_count_swa {} is out of range",
                      file.path(), base, n_dims);
  }
  const Config& c = reader.config();
  // rope_freqs.weight of the file holds still what does not turn.
  T9_TRY(auto full, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
  T9_TRY(auto local, read_rope(reader, {.base = base,
                                        .n_dims = static_cast<uint32_t>(n_dims),
                                        .neox = true,
                                        .scaled = false}));
  program.ropes = {std::move(full), std::move(local)};
  return {};
}

// The last attention.shared_kv_layers layers read what the last layer of their own kind before them
// keeps.
Status share_kv(const Reader& reader, std::vector<DecoderSpec::Layer>& layers) {
  const Config& c = reader.config();
  const std::string key = reader.key("attention.shared_kv_layers");
  T9_TRY(const uint64_t n_shared, reader.file().get_uint(key, 0));
  const auto n_layers = static_cast<uint32_t>(layers.size());
  if (n_shared >= n_layers) {
    return make_error(ErrorCode::kCorrupt, "{}: {} is {} of {} layers, expected fewer",
                      reader.file().path(), key, n_shared, n_layers);
  }
  const uint32_t n_own = n_layers - static_cast<uint32_t>(n_shared);
  for (uint32_t i = n_own; i < n_layers; ++i) {
    uint32_t n = n_own;  // one behind the layer that keeps them: its KV layer has its number
    while (n > 0 && layers[n - 1].window != layers[i].window) --n;
    if (n == 0 || c.n_kv_heads[n - 1] != c.n_kv_heads[i]) {
      return make_error(ErrorCode::kCorrupt,
                        "{}: {} is {}, but none of the first {} layers keeps such keys and values "
                        "as layer {} reads",
                        reader.file().path(), key, n_shared, n_own, i);
    }
    layers[i].kv_layer = n - 1;
  }
  return {};
}

Result<DecoderSpec> gemma4_decoder(const Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  DecoderSpec spec = plain_decoder(c);
  spec.embedding_scale = std::sqrt(static_cast<float>(c.hidden_size));
  spec.attention_scale = 1.0f;
  spec.v_norm = true;
  spec.post_norms = true;
  spec.activation = spec.moe.activation = ops::Activation::kGeluTanh;
  T9_TRY(const double softcap, reader.file().get_float(reader.key("final_logit_softcapping"), 0.0));
  spec.logit_softcap = static_cast<float>(softcap);

  T9_TRY(const uint32_t key_dim, reader.size("attention.key_length_swa", 1, 1024));
  T9_TRY(const uint32_t value_dim, reader.size("attention.value_length_swa", 1, 1024));
  if (key_dim != value_dim) {
    return make_error(ErrorCode::kUnsupported,
                      "{}: attention key length {} and value length {} of layers with a window, "
                      "expected two equal numbers",
                      reader.file().path(), key_dim, value_dim);
  }
  T9_TRY(read_ropes(reader, program, key_dim));
  T9_TRY(reader.size("attention.sliding_window", 1, UINT32_MAX));
  T9_TRY(const auto windows, read_windows(reader, 6));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    DecoderSpec::Layer& layer = spec.layers[i];
    layer.window = windows[i];
    if (layer.window > 0) {
      layer.rope = 1;
      layer.head_dim = key_dim;
    } else {
      layer.k_may_be_v = true;
    }
  }
  T9_TRY(share_kv(reader, spec.layers));
  return spec;
}

// A number of columns for each layer, made of a row's token and of its embedding x.
struct LayerInputs {
  uint32_t width = 0;  // of one layer; 0: there are none
  ops::TensorId all;
};

Result<LayerInputs> layer_inputs(const Reader& reader, ops::Program& program, ops::TensorId x) {
  const Config& c = reader.config();
  const std::string key = reader.key("embedding_length_per_layer_input");
  T9_TRY(const uint64_t length, reader.file().get_uint(key, 0));
  if (length == 0) return LayerInputs{};
  if (length > (1u << 24) / c.n_layers) {
    return make_error(ErrorCode::kCorrupt, "{}: {} is {}, expected up to {}", reader.file().path(),
                      key, length, (1u << 24) / c.n_layers);
  }
  const auto width = static_cast<uint32_t>(length);
  const uint32_t all = c.n_layers * width;
  const float half = 1.0f / std::sqrt(2.0f);  // of the two's sum
  T9_TRY(const auto table,
         add_matrix(reader, program, "per_layer_token_embd.weight", all, c.n_vocab));
  T9_TRY(const auto projection,
         add_matrix(reader, program, "per_layer_model_proj.weight", c.hidden_size, all,
                    1.0f / std::sqrt(static_cast<float>(c.hidden_size))));
  T9_TRY(const auto norm, add_vector(reader, program, "per_layer_proj_norm.weight", width, half));
  const LayerInputs inputs = {width,
                              program.embed(table, half * std::sqrt(static_cast<float>(width)))};
  program.add_rms_norm(inputs.all, program.linear(x, {projection}), norm, c.norm_eps);
  return inputs;
}

Status add_layer_input(const Reader& reader, ops::Program& program, ops::TensorId x,
                       const LayerInputs& inputs, uint32_t layer) {
  const Config& c = reader.config();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  T9_TRY(const auto gate,
         add_matrix(reader, program, name("inp_gate.weight"), c.hidden_size, inputs.width));
  T9_TRY(const auto projection,
         add_matrix(reader, program, name("proj.weight"), inputs.width, c.hidden_size));
  T9_TRY(const auto norm, add_vector(reader, program, name("post_norm.weight"), c.hidden_size));
  const ops::TensorId gated = program.gated_activation(
      program.linear(x, {gate}), inputs.all, layer * inputs.width, ops::Activation::kGeluTanh);
  program.add_rms_norm(x, program.linear(gated, {projection}), norm, c.norm_eps);
  return {};
}

// An MLP and experts see the same residual stream, each through a norm of its own, and each behind
// one; the sum has a norm, too. The router's is without weights, but for a scale of its inputs.
Status record_mlp_and_experts(const Reader& reader, ops::Program& program, const DecoderSpec& spec,
                              ops::TensorId x, uint32_t layer) {
  const Config& c = reader.config();
  const auto name = [&](std::string_view part) { return Reader::layer_name(layer, part); };
  const auto norm = [&](std::string_view part) {
    return add_vector(reader, program, name(part), c.hidden_size);
  };
  const MlpSpec mlp{.width = c.intermediate_size[layer], .activation = spec.activation};
  T9_TRY(const auto before_mlp, norm("ffn_norm.weight"));
  T9_TRY(const auto behind_mlp, norm("post_ffw_norm_1.weight"));
  T9_TRY(const auto before_experts, norm("pre_ffw_norm_2.weight"));
  T9_TRY(const auto behind_experts, norm("post_ffw_norm_2.weight"));
  T9_TRY(const auto behind_both, norm("post_ffw_norm.weight"));
  T9_TRY(const auto before_router,
         add_vector(reader, program, name("ffn_gate_inp.scale"), c.hidden_size,
                    1.0f / std::sqrt(static_cast<float>(c.hidden_size))));

  T9_TRY(const auto inner,
         mlp_block(reader, program, program.rms_norm(x, before_mlp, c.norm_eps), layer, mlp));
  T9_TRY(const auto down,
         add_matrix(reader, program, name("ffn_down.weight"), mlp.width, c.hidden_size));
  const ops::TensorId both =
      program.rms_norm(program.linear(inner, {down}), behind_mlp, c.norm_eps);
  T9_TRY(const auto routed,
         moe_block(reader, program, program.rms_norm(x, before_experts, c.norm_eps),
                   program.rms_norm(x, before_router, c.norm_eps), layer, spec.moe));
  program.add_rms_norm(both, routed, behind_experts, c.norm_eps);
  program.add_rms_norm(x, both, behind_both, c.norm_eps);
  return {};
}

}  // namespace

Status record_gemma4(Reader& reader, ops::Program& program) {
  T9_TRY(const DecoderSpec spec, gemma4_decoder(reader, program));
  T9_TRY(const auto embeddings, add_embeddings(reader, program));
  const ops::TensorId x = program.embed(embeddings.input, spec.embedding_scale);
  T9_TRY(const LayerInputs inputs, layer_inputs(reader, program, x));
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    T9_TRY(record_attention(reader, program, spec, x, layer));
    const bool experts = reader.has(Reader::layer_name(layer, "ffn_gate_inp.weight"));
    T9_TRY(experts ? record_mlp_and_experts(reader, program, spec, x, layer)
                   : record_mlp(reader, program, spec, x, layer));
    if (inputs.width > 0) T9_TRY(add_layer_input(reader, program, x, inputs, layer));
    T9_TRY(const auto scale,
           reader.optional_vector(Reader::layer_name(layer, "layer_output_scale.weight"), 1));
    if (scale) program.scale(x, scale->front());
  }
  return record_end(reader, program, spec, x, embeddings.output);
}

}  // namespace tempo9::models
