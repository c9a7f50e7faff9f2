// LFM2 and LFM2-MoE: short convolutions in the place of attention in layers without KV heads.
// Sources: transformers' Lfm2ForCausalLM, Lfm2MoeForCausalLM. The norm behind the last layer is
// named token_embd_norm in files.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_lfm2(Reader& reader, ops::Program& program);

Status record_lfm2(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  spec.moe.gating = ops::Gating::kSigmoid;
  if (reader.has("token_embd_norm.weight")) spec.final_norm = "token_embd_norm.weight";
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    if (c.n_kv_heads[i] == 0) spec.layers[i].mixer = short_conv_block;
  }
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
