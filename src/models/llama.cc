// Llama 2 and 3, Mistral, Mixtral, SmolLM (llama); Qwen2 and 2.5 (qwen2); Qwen3 (qwen3, qwen3moe)
// and the text side of Qwen3-VL (qwen3vl, qwen3vlmoe), whose three position rows are equal for
// text. Sources: transformers' LlamaForCausalLM, MixtralForCausalLM, Qwen2ForCausalLM,
// Qwen3ForCausalLM, Qwen3MoeForCausalLM, Qwen3VLForConditionalGeneration.
#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_llama(Reader& reader, ops::Program& program);

Status record_llama(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  // The converter permutes q and k rows of llama files so that pairs stand side by side.
  const bool neox = c.architecture != "llama";
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = neox}));
  program.ropes.push_back(std::move(rope));
  return record_decoder(reader, program, plain_decoder(c));
}

}  // namespace tempo9::models
