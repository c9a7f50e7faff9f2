// Ministral 3: Llama's layers, yarn, and queries that grow with their position. Source:
// transformers' Ministral3ForCausalLM (get_llama_4_attn_scale).
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_mistral3(Reader& reader, ops::Program& program);

Status record_mistral3(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims}));
  const std::string key = reader.key("attention.temperature_scale");
  T9_TRY(const double growth, reader.file().get_float(key, 0.0));
  if (growth != 0.0) {
    const std::string every_key = reader.key("rope.scaling.original_context_length");
    T9_TRY(const uint64_t every, reader.file().get_uint(every_key));
    if (every == 0 || every > UINT32_MAX) {
      return make_error(ErrorCode::kCorrupt, "{}: {} is {}, expected 1 to 2^32 - 1",
                        reader.file().path(), every_key, every);
    }
    rope.q_growth = static_cast<float>(growth);
    rope.q_growth_every = static_cast<uint32_t>(every);
  }
  program.ropes.push_back(std::move(rope));
  return record_decoder(reader, program, plain_decoder(c));
}

}  // namespace tempo9::models
