// Phi 3, 3.5 and 4: q, k and v in one tensor, gate and up in one, part of a head may rotate,
// longrope. Source: transformers' Phi3ForCausalLM.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_phi3(Reader& reader, ops::Program& program);

Status record_phi3(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  // Every layer has the window where there is one.
  T9_TRY(const uint64_t window, reader.file().get_uint(reader.key("attention.sliding_window"), 0));
  for (DecoderSpec::Layer& layer : spec.layers)
    layer.window = static_cast<uint32_t>(std::min<uint64_t>(window, UINT32_MAX));
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
