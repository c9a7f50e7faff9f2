// Q2_0: 64 weights of two bits, w = d * (q - 1).
// Layout: d f16 | qs[16], lowest bits first.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q2_0 {
  static constexpr DType kType = DType::kQ2_0;
  static constexpr int kBlockElements = 64;
  static constexpr int kBlockBytes = 18;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(bits_of(qs[i / 4], 2 * (i % 4), 2) - 1);
    }
  }
};

}  // namespace tempo9::quant
