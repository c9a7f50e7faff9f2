// IQ2_S: 256 weights as 32 grid vectors of 8 with signs, a scale for every two.
// w = (d * (0.5 + scale) * 0.25) * grid * sign.
// Layout: d f16 | qs[32]: low eight bits of the grid indices | signs[32], one bit a weight |
// qh[8]: upper two bits of the indices | scales[8]: sixteen nibbles.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ2_S {
  static constexpr DType kType = DType::kIQ2_S;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 82;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    const uint8_t* signs = block + 34;
    const uint8_t* qh = block + 66;
    const uint8_t* scales = block + 74;
    for (int v = 0; v < 32; ++v) {
      const int index = qs[v] | (bits_of(qh[v / 4], 2 * (v % 4), 2) << 8);
      const int nibble = bits_of(scales[v / 4], 4 * ((v / 2) % 2), 4);
      const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
      for (int i = 0; i < 8; ++i) {
        out[8 * v + i] = scale * iq2_level(iq2_s_grid(index), i) * iq_sign(signs[v], i);
      }
    }
  }
};

}  // namespace tempo9::quant
