// IQ1_M: 256 weights as 32 ternary grid vectors of 8, each moved by an eighth, a scale for every
// two. w = (d * (2 * scale + 1)) * (grid + delta), delta = 0.125 or -0.125. Layout: qs[32]: low
// eight bits of the grid indices | qh[16]: a nibble a vector, the upper three bits of the index and
// the sign of delta | scales[4] u16: four scales of three bits each, and in the upper nibbles,
// lowest first, the f16 d.
#pragma once

#include "quant/half.h"
#include "quant/iq_grids.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ1_M {
  static constexpr DType kType = DType::kIQ1_M;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 56;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* qs = block;
    const uint8_t* qh = block + 32;
    const uint8_t* scales = block + 48;
    int d_bits = 0;
    for (int n = 0; n < 4; ++n) d_bits |= bits_of(scales[2 * n + 1], 4, 4) << (4 * n);
    const float d = f16_to_f32(static_cast<uint16_t>(d_bits));
    for (int v = 0; v < 32; ++v) {
      const int three_bits = (load_u16(scales + 2 * (v / 8)) >> (3 * ((v / 2) % 4))) & 7;
      const float scale = d * static_cast<float>(2 * three_bits + 1);
      const int nibble = bits_of(qh[v / 2], 4 * (v % 2), 4);
      const int index = qs[v] | ((nibble & 7) << 8);
      const float delta = (nibble & 8) != 0 ? -kIq1Delta : kIq1Delta;
      for (int i = 0; i < 8; ++i) out[8 * v + i] = scale * (iq1_level(iq1_grid(index), i) + delta);
    }
  }
};

}  // namespace tempo9::quant
