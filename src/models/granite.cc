// Granite 3 and 4: Llama's layers, dense (granite) or with experts (granitemoe), and four
// multipliers; in granitehybrid most layers have a Mamba2 in attention's place. Sources:
// transformers' GraniteForCausalLM, GraniteMoeForCausalLM, GraniteMoeSharedForCausalLM,
// GraniteMoeHybridForCausalLM.
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
  // The key's name is about something else, but it is what says whether a hybrid rotates at all.
  const bool hybrid = c.architecture == "granitehybrid";
  T9_TRY(const bool rotates, reader.file().get_bool(reader.key("rope.scaling.finetuned"), true));
  const uint32_t n_dims = hybrid && !rotates ? 0 : c.rope_dims;
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = n_dims}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  for (uint32_t i = 0; hybrid && i < c.n_layers; ++i) {
    if (c.n_kv_heads[i] == 0) spec.layers[i].mixer = mamba2_block;
  }
  T9_TRY(spec.attention_scale, multiplier(reader, "attention.scale", spec.attention_scale));
  T9_TRY(spec.embedding_scale, multiplier(reader, "embedding_scale", 1.0f));
  T9_TRY(spec.residual_scale, multiplier(reader, "residual_scale", 1.0f));
  T9_TRY(const float divisor, multiplier(reader, "logit_scale", 1.0f));
  spec.logit_scale = 1.0f / divisor;
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
