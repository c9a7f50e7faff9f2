// Granite 3 and 4 without recurrent layers: Llama's layers, dense (granite) or with experts
// (granitemoe), and four multipliers. Sources: transformers' GraniteForCausalLM,
// GraniteMoeForCausalLM, GraniteMoeSharedForCausalLM.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_granite(Reader& reader, ops::Program& program);

namespace {

Result<float> multiplier(const Reader& reader, std::string_view name, float fallback) {
  T9_TRY(const double value,
         reader.file().get_float(reader.key(name), static_cast<double>(fallback)));
  if (!(value > 0.0 && value < 1e6)) {
    return make_error(ErrorCode::kCorrupt, "{}: {} is {}, expected a number above 0",
                      reader.file().path(), reader.key(name), value);
  }
  return static_cast<float>(value);
}

}  // namespace

Status record_granite(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  T9_TRY(spec.attention_scale, multiplier(reader, "attention.scale", spec.attention_scale));
  T9_TRY(spec.embedding_scale, multiplier(reader, "embedding_scale", 1.0f));
  T9_TRY(spec.residual_scale, multiplier(reader, "residual_scale", 1.0f));
  T9_TRY(const float divisor, multiplier(reader, "logit_scale", 1.0f));
  spec.logit_scale = 1.0f / divisor;
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
