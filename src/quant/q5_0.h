// Q5_0: 32 weights of five bits, w = d * (q - 16).
// Layout: d f16 | qh u32: bit i is the fifth bit of weight i | qs[16]: low nibbles are weights
// 0-15, high nibbles 16-31.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q5_0 {
  static constexpr DType kType = DType::kQ5_0;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 22;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qh = block + 2;
    const uint8_t* qs = block + 6;
    for (int i = 0; i < kBlockElements; ++i) {
      const int q = bits_of(qs[i % 16], 4 * (i / 16), 4) | (bits_of(qh[i / 8], i % 8, 1) << 4);
      out[i] = d * static_cast<float>(q - 16);
    }
  }
};

}  // namespace tempo9::quant
