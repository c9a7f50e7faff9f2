// Qwen3-Next (qwen3next) and Qwen3.5 (qwen35, qwen35moe; text): Gated DeltaNet layers, and at fixed
// intervals one of attention whose output is gated. Sources: transformers' Qwen3NextForCausalLM,
// Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM. Norm weights in the file already hold 1 + w.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_qwen_hybrid(Reader& reader, ops::Program& program);

namespace {

// Whether each layer is recurrent: flags, or every n-th has attention.
Result<std::vector<bool>> read_recurrent(const Reader& reader, uint32_t n_layers) {
  const gguf::File& file = reader.file();
  std::vector<bool> recurrent(n_layers);
  const std::string key = reader.key("attention.recurrent_layers");
  if (file.find(key) != nullptr) {
    T9_TRY(const auto flags, file.get_ints(key));
    if (flags.size() < n_layers) {
      return make_error(ErrorCode::kCorrupt, "{}: {} has {} entries, expected {}", file.path(), key,
                        flags.size(), n_layers);
    }
    for (uint32_t i = 0; i < n_layers; ++i) recurrent[i] = flags[i] != 0;
    return recurrent;
  }
  T9_TRY(const uint64_t interval, file.get_uint(reader.key("full_attention_interval"), 4));
  for (uint32_t i = 0; i < n_layers; ++i) recurrent[i] = interval == 0 || (i + 1) % interval != 0;
  return recurrent;
}

}  // namespace

Status record_qwen_hybrid(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  spec.attention_gate = true;
  spec.mlp_norm = "post_attention_norm.weight";
  T9_TRY(const auto recurrent, read_recurrent(reader, c.n_layers));
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    if (recurrent[i]) spec.layers[i].mixer = gated_delta_block;
  }
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
