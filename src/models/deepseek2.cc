// DeepSeek V2, V2-Lite, V3, R1 and what shares their graph (Kimi K2, GLM-4.7-Flash): latent
// attention, leading dense layers, then experts with shared ones. Sources: transformers'
// DeepseekV2ForCausalLM, DeepseekV3ForCausalLM; DeepSeek-AI 2024 (arXiv:2405.04434).
#include <cmath>

#include "models/blocks/decoder.h"

namespace tempo9::models {

Status record_deepseek2(Reader& reader, ops::Program& program);

Status record_deepseek2(Reader& reader, ops::Program& program) {
  const Config& c = reader.config();
  T9_TRY(const LatentSizes latent, read_latent(reader));
  T9_TRY(auto rope, read_rope(reader, {.base = c.rope_base, .n_dims = latent.n_rope}));
  program.ropes.push_back(std::move(rope));
  DecoderSpec spec = plain_decoder(c);
  // Yarn makes scores larger, too; the file holds a tenth of the original's mscale_all_dim.
  const gguf::File& file = reader.file();
  T9_TRY(const double log_multiplier,
         file.get_float(reader.key("rope.scaling.yarn_log_multiplier"), 0.0));
  T9_TRY(const double factor, file.get_float(reader.key("rope.scaling.factor"), 1.0));
  const double growth = factor > 1.0 ? 1.0 + log_multiplier * std::log(factor) : 1.0;
  const double dim = latent.n_nope + latent.n_rope;
  const auto scale = static_cast<float>(growth * growth / std::sqrt(dim));
  for (DecoderSpec::Layer& layer : spec.layers) {
    layer.mixer = [latent, scale](const Reader& r, ops::Program& p, ops::TensorId x, uint32_t i) {
      return latent_attention_block(r, p, x, i, {.sizes = latent, .scale = scale});
    };
  }
  // Files of V2 do not say either; V3's have a bias, and not always the function.
  spec.moe.normalise = false;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    if (reader.has(Reader::layer_name(i, "exp_probs_b.bias")))
      spec.moe.gating = ops::Gating::kSigmoid;
  }
  return record_decoder(reader, program, spec);
}

}  // namespace tempo9::models
