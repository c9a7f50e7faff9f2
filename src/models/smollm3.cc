// SmolLM3: every fourth layer knows no positions. Source: transformers' SmolLM3ForCausalLM.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_smollm3(Reader& reader, ops::Program& program);

Status record_smollm3(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims}));
  program.ropes = {std::move(rope), ops::Rope{}};
  DecoderSpec spec = plain_decoder(c);
  // The interval is in no key; all published checkpoints have this one.
  for (uint32_t i = 3; i < c.n_layers; i += 4) spec.layers[i].rope = 1;
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
