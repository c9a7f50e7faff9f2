// Q5_1: 32 weights of five bits, w = d * q + m.
// Layout: d f16 | m f16 | qh u32: bit i is the fifth bit of weight i | qs[16] as in Q5_0.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q5_1 {
  static constexpr DType kType = DType::kQ5_1;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 24;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float m = load_f16(block + 2);
    const uint8_t* qh = block + 4;
    const uint8_t* qs = block + 8;
    for (int i = 0; i < kBlockElements; ++i) {
      const int q = bits_of(qs[i % 16], 4 * (i / 16), 4) | (bits_of(qh[i / 8], i % 8, 1) << 4);
      out[i] = d * static_cast<float>(q) + m;
    }
  }
};

}  // namespace tempo9::quant
