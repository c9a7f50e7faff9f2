// TQ2_0: 256 weights of two bits, w = d * (q - 1).
// Layout: qs[64], ordered as in Q2_K | d f16.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct TQ2_0 {
  static constexpr DType kType = DType::kTQ2_0;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 66;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* qs = block;
    const float d = load_f16(block + 64);
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] =
          d * static_cast<float>(bits_of(qs[32 * (i / 128) + i % 32], 2 * ((i / 32) % 4), 2) - 1);
    }
  }
};

}  // namespace tempo9::quant
