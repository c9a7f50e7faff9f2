// Q3_K: 256 weights of three bits in 16 groups of 16, w = (d * (scale - 32)) * (q - 4).
// Layout: hmask[32]: bit i / 32 of byte i % 32 is the third bit of weight i | qs[64]: the lower
// two, as in Q2_K | scales[12]: six bits each | d f16.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q3_K {
  static constexpr DType kType = DType::kQ3_K;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 110;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* hmask = block;
    const uint8_t* qs = block + 32;
    const uint8_t* scales = block + 96;
    const float d = load_f16(block + 108);
    for (int i = 0; i < kBlockElements; ++i) {
      const int group = i / 16;
      const int scale = bits_of(scales[group % 8], 4 * (group / 8), 4) |
                        (bits_of(scales[8 + group % 4], 2 * (group / 4), 2) << 4);
      const int q = bits_of(qs[32 * (i / 128) + i % 32], 2 * ((i / 32) % 4), 2) |
                    (bits_of(hmask[i % 32], i / 32, 1) << 2);
      out[i] = (d * static_cast<float>(scale - 32)) * static_cast<float>(q - 4);
    }
  }
};

}  // namespace tempo9::quant
