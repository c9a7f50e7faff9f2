// Q4_K: 256 weights of four bits in 8 groups of 32, w = (d * scale) * q - (dmin * min).
// Layout: d f16 | dmin f16 | scales[12]: six bits each, see below | qs[128].
// Bits: weight i stands in byte 32 * (i / 64) + i % 32 of qs, nibble (i / 32) % 2.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

// The 12 bytes of Q4_K and Q5_K, three rows of four: scales 0-3, mins 0-3, and the low nibbles of
// scales 4-7 (low) and mins 4-7 (high), whose upper two bits are the upper two of the first two
// rows.
T9_HOST_DEVICE T9_INLINE int k_scale(const uint8_t* scales, int group) {
  if (group < 4) return bits_of(scales[group], 0, 6);
  return bits_of(scales[group + 4], 0, 4) | (bits_of(scales[group - 4], 6, 2) << 4);
}
T9_HOST_DEVICE T9_INLINE int k_min(const uint8_t* scales, int group) {
  if (group < 4) return bits_of(scales[group + 4], 0, 6);
  return bits_of(scales[group + 4], 4, 4) | (bits_of(scales[group], 6, 2) << 4);
}

struct Q4_K {
  static constexpr DType kType = DType::kQ4_K;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 144;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float dmin = load_f16(block + 2);
    const uint8_t* scales = block + 4;
    const uint8_t* qs = block + 16;
    for (int i = 0; i < kBlockElements; ++i) {
      const float scale = d * static_cast<float>(k_scale(scales, i / 32));
      const float min = dmin * static_cast<float>(k_min(scales, i / 32));
      const int q = bits_of(qs[32 * (i / 64) + i % 32], 4 * ((i / 32) % 2), 4);
      out[i] = scale * static_cast<float>(q) - min;
    }
  }
};

}  // namespace tempo9::quant
