// GPT-OSS: experts with biases behind a clamped gate, attention sinks, every second layer with a
// window. Source: transformers' GptOssForCausalLM.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_gpt_oss(Reader& reader, ops::Program& program);

Status record_gpt_oss(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  // Its yarn does not round (truncate = false in the original's configuration; no key here says
  // so).
  T9_TRY(
      auto rope,
      read_rope(reader,
                {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true, .round_yarn = false}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  T9_TRY(const auto windows, read_windows(reader, 2));
  for (uint32_t i = 0; i < c.n_layers; ++i) spec.layers[i].window = windows[i];
  spec.mlp_norm = "post_attention_norm.weight";
  spec.moe = {.gating = ops::Gating::kSoftmaxOfChosen,
              .activation = ops::Activation::kClampedSwiglu};
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
