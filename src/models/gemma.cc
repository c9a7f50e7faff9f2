// Gemma 2 and 3, text, and EmbeddingGemma. Sources: transformers' Gemma2ForCausalLM,
// Gemma3ForCausalLM, Gemma3TextModel. Norm weights in the file already hold 1 + w.
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_gemma2(Reader& reader, ops::Program& program);
Status record_gemma3(Reader& reader, ops::Program& program);
Status record_gemma_embedding(Reader& reader, ops::Program& program);

namespace {

// The embedding grows by sqrt(hidden size), norms stand behind attention and MLP, too. Scores are
// scaled by 1/sqrt(head_dim), but in the largest model (told by its layers: no key in the file says
// so) by the hidden size per head.
Result<DecoderSpec> gemma_decoder(const Reader& reader, uint32_t period,
                                  uint32_t layers_of_largest) {
  const Config& c = reader.config();
  DecoderSpec spec = plain_decoder(c);
  spec.embedding_scale = std::sqrt(static_cast<float>(c.hidden_size));
  if (c.n_layers == layers_of_largest) {
    spec.attention_scale = 1.0f / std::sqrt(static_cast<float>(c.hidden_size / c.n_heads[0]));
  }
  spec.post_norms = true;
  spec.activation = ops::Activation::kGeluTanh;
  T9_TRY(const auto windows, read_windows(reader, period));
  for (uint32_t i = 0; i < c.n_layers; ++i) spec.layers[i].window = windows[i];
  T9_TRY(const double softcap, reader.file().get_float(reader.key("final_logit_softcapping"), 0.0));
  spec.logit_softcap = static_cast<float>(softcap);
  return spec;
}

// Ropes and windows of Gemma 3: layers with a window have a rope of their own.
Result<DecoderSpec> gemma3_decoder(const Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(const double window_base,
         reader.file().get_float(reader.key("rope.freq_base_swa"), 10000.0));
  T9_TRY(auto full, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
  T9_TRY(auto local,
         read_rope(reader,
                   {.base = window_base, .n_dims = c.rope_dims, .neox = true, .scaled = false}));
  program.ropes = {std::move(full), std::move(local)};
  T9_TRY(DecoderSpec spec, gemma_decoder(reader, 6, 62));
  for (DecoderSpec::Layer& layer : spec.layers) layer.rope = layer.window > 0 ? 1 : 0;
  return spec;
}

}  // namespace

Status record_gemma2(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = c.rope_dims, .neox = true}));
  program.ropes.push_back(std::move(rope));
  T9_TRY(DecoderSpec spec, gemma_decoder(reader, 2, 46));
  T9_TRY(const double softcap, reader.file().get_float(reader.key("attn_logit_softcapping"), 0.0));
  spec.attention_softcap = static_cast<float>(softcap);
  return record_decoder(reader, program, spec);
}

Status record_gemma3(Reader& reader, ops::Program& program) {
  T9_TRY(const DecoderSpec spec, gemma3_decoder(reader, program));
  return record_decoder(reader, program, spec);
}

// Rows see both ways. The file's window counts both sides and the row itself lies in the middle.
Status record_gemma_embedding(Reader& reader, ops::Program& program) {
  T9_TRY(DecoderSpec spec, gemma3_decoder(reader, program));
  spec.causal = false;
  for (DecoderSpec::Layer& layer : spec.layers)
    if (layer.window > 0) layer.window = layer.window / 2 + 1;
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
