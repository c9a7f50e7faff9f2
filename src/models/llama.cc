// Llama 2 and 3, Mistral, SmolLM (llama); Qwen2 and 2.5 (qwen2); Qwen3 (qwen3).
// Source: transformers LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM.
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_llama(Reader& reader, ops::Program& program);

Status record_llama(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  // The converter permutes q and k rows of llama files so that pairs stand side by side.
  const bool neox = c.architecture != "llama";
  T9_TRY(auto rope, read_rope(reader, c.rope_base, c.rope_dims, true, neox));
  program.ropes.push_back(std::move(rope));

  T9_TRY(const auto embeddings, add_embeddings(reader, program));
  const ops::TensorId x = program.embed(embeddings.input, 1.0f);
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    const auto name = [&](std::string_view part) { return Reader::layer_name(i, part); };
    const uint32_t attention_width = c.n_heads[i] * c.head_dim;

    T9_TRY(const auto attn_norm,
           add_vector(reader, program, name("attn_norm.weight"), c.hidden_size));
    const AttentionSpec spec{.layer = i,
                             .rope = 0,
                             .scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim)),
                             .window = 0};
    T9_TRY(const auto attended,
           attention_block(reader, program, program.rms_norm(x, attn_norm, c.norm_eps), spec));
    T9_TRY(const auto output,
           add_matrix(reader, program, name("attn_output.weight"), attention_width, c.hidden_size));
    T9_TRY(const auto output_bias,
           add_optional_vector(reader, program, name("attn_output.bias"), c.hidden_size));
    program.add_linear(x, attended, output, output_bias);

    T9_TRY(const auto ffn_norm,
           add_vector(reader, program, name("ffn_norm.weight"), c.hidden_size));
    T9_TRY(const auto hidden,
           gated_mlp_block(reader, program, program.rms_norm(x, ffn_norm, c.norm_eps), i,
                           ops::Activation::kSilu));
    T9_TRY(const auto down, add_matrix(reader, program, name("ffn_down.weight"),
                                       c.intermediate_size[i], c.hidden_size));
    T9_TRY(const auto down_bias,
           add_optional_vector(reader, program, name("ffn_down.bias"), c.hidden_size));
    program.add_linear(x, hidden, down, down_bias);
  }
  T9_TRY(const auto output_norm, add_vector(reader, program, "output_norm.weight", c.hidden_size));
  program.head(program.rms_norm(program.select_rows(x), output_norm, c.norm_eps),
               embeddings.output);
  return reader.check_all_used();
}

}  // namespace tempo9::models
