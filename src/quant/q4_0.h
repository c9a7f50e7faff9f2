// Q4_0: 32 weights of four bits, w = d * (q - 8).
// Layout: d f16 | qs[16]: low nibbles are weights 0-15, high nibbles 16-31.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q4_0 {
  static constexpr DType kType = DType::kQ4_0;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 18;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(bits_of(qs[i % 16], 4 * (i / 16), 4) - 8);
    }
  }
};

}  // namespace tempo9::quant
