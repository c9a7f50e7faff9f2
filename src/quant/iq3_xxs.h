// IQ3_XXS: 256 weights in 8 groups of 32, each of eight grid vectors of 4 with signs.
// w = (d * (0.5 + scale) * 0.5) * grid * sign.
// Layout: d f16 | qs[64]: grid indices | 8 x u32: four sign indices of seven bits, and the scale in
// the upper four.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ3_XXS {
  static constexpr DType kType = DType::kIQ3_XXS;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 98;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int group = 0; group < 8; ++group) {
      const uint32_t aux = load_u32(block + 66 + 4 * group);
      const float scale = d * (0.5f + static_cast<float>(aux >> 28)) * 0.5f;
      for (int i = 0; i < 32; ++i) {
        const uint32_t signs = iq_signs((aux >> (7 * (i / 8))) & 0x7F);
        const uint16_t entry = iq3_xxs_grid(qs[8 * group + i / 4]);
        out[32 * group + i] = scale * iq3_xxs_level(entry, i % 4) * iq_sign(signs, i % 8);
      }
    }
  }
};

}  // namespace tempo9::quant
