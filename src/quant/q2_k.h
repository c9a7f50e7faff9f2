// Q2_K: 256 weights of two bits in 16 groups of 16, w = (d * scale) * q - (dmin * min).
// Layout: scales[16]: scale in the low nibble, min in the high one | qs[64] | d f16 | dmin f16.
// Bits: weight i stands in byte 32 * (i / 128) + i % 32 of qs, pair (i / 32) % 4.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q2_K {
  static constexpr DType kType = DType::kQ2_K;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 84;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* scales = block;
    const uint8_t* qs = block + 16;
    const float d = load_f16(block + 80);
    const float dmin = load_f16(block + 82);
    for (int i = 0; i < kBlockElements; ++i) {
      const float scale = d * static_cast<float>(bits_of(scales[i / 16], 0, 4));
      const float min = dmin * static_cast<float>(bits_of(scales[i / 16], 4, 4));
      const int q = bits_of(qs[32 * (i / 128) + i % 32], 2 * ((i / 32) % 4), 2);
      out[i] = scale * static_cast<float>(q) - min;
    }
  }
};

}  // namespace tempo9::quant
