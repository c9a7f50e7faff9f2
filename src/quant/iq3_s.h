// IQ3_S: 256 weights as 64 grid vectors of 4 with signs, a scale for every 32 weights.
// w = (d * (1 + 2 * scale)) * grid * sign.
// Layout: d f16 | qs[64]: low eight bits of the grid indices | qh[8]: their ninth | signs[32], one
// bit a weight | scales[4]: eight nibbles.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ3_S {
  static constexpr DType kType = DType::kIQ3_S;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 110;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    const uint8_t* qh = block + 66;
    const uint8_t* signs = block + 74;
    const uint8_t* scales = block + 106;
    for (int i = 0; i < kBlockElements; ++i) {
      const int v = i / 4;
      const int index = qs[v] | (bits_of(qh[v / 8], v % 8, 1) << 8);
      const int nibble = bits_of(scales[i / 64], 4 * ((i / 32) % 2), 4);
      const float scale = d * static_cast<float>(1 + 2 * nibble);
      out[i] = scale * iq3_s_level(iq3_s_grid(index), i % 4) * iq_sign(signs[i / 8], i % 8);
    }
  }
};

}  // namespace tempo9::quant
