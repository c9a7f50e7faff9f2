// Gemma 3, text. Source: transformers Gemma3ForCausalLM. Norm weights in the file already hold 1 +
// w.
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_gemma3(Reader& reader, ops::Program& program);

namespace {

constexpr uint32_t kFullRope = 0, kWindowRope = 1;

// True for layers that see a window only: an array of flags, or "every n-th layer is full", n = 6
// when absent.
Result<std::vector<bool>> window_layers(const Reader& reader) {
  const uint32_t n_layers = reader.config().n_layers;
  const std::string key = reader.key("attention.sliding_window_pattern");
  std::vector<bool> windowed(n_layers);
  const gguf::Value* value = reader.file().find(key);
  if (value != nullptr && std::holds_alternative<gguf::Array>(*value)) {
    T9_TRY(const auto flags, reader.file().get_ints(key));
    if (flags.size() < n_layers) {
      return make_error(ErrorCode::kCorrupt, "{}: {} has {} entries, expected {}",
                        reader.file().path(), key, flags.size(), n_layers);
    }
    for (uint32_t i = 0; i < n_layers; ++i) windowed[i] = flags[i] != 0;
    return windowed;
  }
  T9_TRY(const uint64_t period, reader.file().get_uint(key, 6));
  for (uint32_t i = 0; i < n_layers; ++i) windowed[i] = period > 0 && i % period < period - 1;
  return windowed;
}

// 1/sqrt(head_dim), but the 27B (62 layers) scales by its hidden size per head; no key in the file
// says so.
float attention_scale(const Config& c) {
  const uint32_t width = c.n_layers == 62 ? c.hidden_size / c.n_heads[0] : c.head_dim;
  return 1.0f / std::sqrt(static_cast<float>(width));
}

}  // namespace

Status record_gemma3(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(const uint64_t window, reader.file().get_uint(reader.key("attention.sliding_window"), 0));
  T9_TRY(const double window_base,
         reader.file().get_float(reader.key("rope.freq_base_swa"), 10000.0));
  T9_TRY(const double softcap, reader.file().get_float(reader.key("final_logit_softcapping"), 0.0));
  T9_TRY(const std::vector<bool> windowed, window_layers(reader));
  T9_TRY(auto full, read_rope(reader, c.rope_base, c.rope_dims, true, true));
  T9_TRY(auto local, read_rope(reader, window_base, c.rope_dims, false, true));
  program.ropes.push_back(std::move(full));
  program.ropes.push_back(std::move(local));

  T9_TRY(const auto embeddings, add_embeddings(reader, program));
  const ops::TensorId x =
      program.embed(embeddings.input, std::sqrt(static_cast<float>(c.hidden_size)));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    const auto name = [&](std::string_view part) { return Reader::layer_name(i, part); };
    const auto norm = [&](std::string_view part) {
      return add_vector(reader, program, name(part), c.hidden_size);
    };
    const bool local_layer = windowed[i] && window > 0;

    T9_TRY(const auto attn_norm, norm("attn_norm.weight"));
    const AttentionSpec spec{.layer = i,
                             .rope = windowed[i] ? kWindowRope : kFullRope,
                             .scale = attention_scale(c),
                             .window = local_layer ? static_cast<uint32_t>(window) : 0};
    T9_TRY(const auto attended,
           attention_block(reader, program, program.rms_norm(x, attn_norm, c.norm_eps), spec));
    T9_TRY(const auto output, add_matrix(reader, program, name("attn_output.weight"),
                                         c.n_heads[i] * c.head_dim, c.hidden_size));
    T9_TRY(const auto post_attention_norm, norm("post_attention_norm.weight"));
    program.add_rms_norm(x, program.linear(attended, {output}), post_attention_norm, c.norm_eps);

    T9_TRY(const auto ffn_norm, norm("ffn_norm.weight"));
    T9_TRY(const auto hidden,
           gated_mlp_block(reader, program, program.rms_norm(x, ffn_norm, c.norm_eps), i,
                           ops::Activation::kGeluTanh));
    T9_TRY(const auto down, add_matrix(reader, program, name("ffn_down.weight"),
                                       c.intermediate_size[i], c.hidden_size));
    T9_TRY(const auto post_ffw_norm, norm("post_ffw_norm.weight"));
    program.add_rms_norm(x, program.linear(hidden, {down}), post_ffw_norm, c.norm_eps);
  }
  T9_TRY(const auto output_norm, add_vector(reader, program, "output_norm.weight", c.hidden_size));
  program.head(program.rms_norm(program.select_rows(x), output_norm, c.norm_eps), embeddings.output,
               static_cast<float>(softcap));
  return reader.check_all_used();
}

}  // namespace tempo9::models
