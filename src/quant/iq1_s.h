// IQ1_S: 256 weights in 8 groups of 32, each of four ternary grid vectors of 8, moved by an eighth.
// w = (d * (2 * scale + 1)) * (grid + delta), delta = 0.125 or -0.125.
// Layout: d f16 | qs[32]: low eight bits of the grid indices | qh[8] u16: four times the upper
// three bits of an index, the scale in three bits, and the sign of delta.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ1_S {
  static constexpr DType kType = DType::kIQ1_S;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 50;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int group = 0; group < 8; ++group) {
      const int qh = load_u16(block + 34 + 2 * group);
      const float scale = d * static_cast<float>(2 * ((qh >> 12) & 7) + 1);
      const float delta = (qh & 0x8000) != 0 ? -kIq1Delta : kIq1Delta;
      for (int i = 0; i < 32; ++i) {
        const int index = qs[4 * group + i / 8] | (((qh >> (3 * (i / 8))) & 7) << 8);
        out[32 * group + i] = scale * (iq1_level(iq1_grid(index), i % 8) + delta);
      }
    }
  }
};

}  // namespace tempo9::quant
