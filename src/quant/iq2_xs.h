// IQ2_XS: 256 weights as 32 grid vectors of 8 with signs, a scale for every two.
// w = (d * (0.5 + scale) * 0.25) * grid * sign.
// Layout: d f16 | qs[32] u16: grid index in nine bits, sign index in seven | scales[8]: sixteen
// nibbles.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ2_XS {
  static constexpr DType kType = DType::kIQ2_XS;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 74;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* scales = block + 66;
    for (int v = 0; v < 32; ++v) {
      const uint16_t q = load_u16(block + 2 + 2 * v);
      const int nibble = bits_of(scales[v / 4], 4 * ((v / 2) % 2), 4);
      const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
      const uint32_t signs = iq_signs(q >> 9);
      for (int i = 0; i < 8; ++i) {
        out[8 * v + i] = scale * iq2_level(iq2_xs_grid(q & 0x1FF), i) * iq_sign(signs, i);
      }
    }
  }
};

}  // namespace tempo9::quant
