// GLM-4 (glm4: norms behind attention and MLP, too; gate and up in one tensor) and GLM-4.5 and
// later with experts (glm4moe). Half of each head rotates. Sources: transformers' Glm4ForCausalLM,
// Glm4MoeForCausalLM.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_glm4(Reader& reader, ops::Program& program);

Status record_glm4(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  const bool experts = c.architecture == "glm4moe";
  // The dense ones rotate neighbours, those with experts halves.
  T9_TRY(auto rope,
         read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = experts}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  spec.post_norms = !experts;
  if (experts) {
    spec.mlp_norm = "post_attention_norm.weight";
    spec.moe = {.gating = ops::Gating::kSigmoid};
  }
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
