// Q4_1: 32 weights of four bits, w = d * q + m.
// Layout: d f16 | m f16 | qs[16]: low nibbles are weights 0-15, high nibbles 16-31.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q4_1 {
  static constexpr DType kType = DType::kQ4_1;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 20;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const float m = load_f16(block + 2);
    const uint8_t* qs = block + 4;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(bits_of(qs[i % 16], 4 * (i / 16), 4)) + m;
    }
  }
};

}  // namespace tempo9::quant
