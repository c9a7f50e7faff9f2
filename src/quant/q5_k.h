// Q5_K: 256 weights of five bits in 8 groups of 32, w = (d * scale) * q - (dmin * min).
// Layout: d f16 | dmin f16 | scales[12] as in Q4_K | qh[32]: bit i / 32 of byte i % 32 is the fifth
// bit of weight i | qs[128] as in Q4_K.
#pragma once

#include "quant/half.h"
#include "quant/q4_k.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q5_K {
  static constexpr DType kType = DType::kQ5_K;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 176;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float dmin = load_f16(block + 2);
    const uint8_t* scales = block + 4;
    const uint8_t* qh = block + 16;
    const uint8_t* qs = block + 48;
    for (int i = 0; i < kBlockElements; ++i) {
      const float scale = d * static_cast<float>(k_scale(scales, i / 32));
      const float min = dmin * static_cast<float>(k_min(scales, i / 32));
      const int q = bits_of(qs[32 * (i / 64) + i % 32], 4 * ((i / 32) % 2), 4) |
                    (bits_of(qh[i % 32], i / 32, 1) << 4);
      out[i] = scale * static_cast<float>(q) - min;
    }
  }
};

}  // namespace tempo9::quant
