// IQ2_XXS: 256 weights in 8 groups of 32, each of four grid vectors of 8 with signs.
// w = (d * (0.5 + scale) * 0.25) * grid * sign.
// Layout: d f16 | 8 groups of: index[4] | u32: four sign indices of seven bits, and the scale in
// the upper four.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ2_XXS {
  static constexpr DType kType = DType::kIQ2_XXS;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 66;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    for (int group = 0; group < 8; ++group) {
      const uint8_t* index = block + 2 + 8 * group;
      const uint32_t aux = load_u32(index + 4);
      const float scale = d * (0.5f + static_cast<float>(aux >> 28)) * 0.25f;
      for (int i = 0; i < 32; ++i) {
        const uint32_t signs = iq_signs((aux >> (7 * (i / 8))) & 0x7F);
        out[32 * group + i] =
            scale * iq2_level(iq2_xxs_grid(index[i / 8]), i % 8) * iq_sign(signs, i % 8);
      }
    }
  }
};

}  // namespace tempo9::quant
