// Q8_0: 32 weights of eight bits, w = d * q.
// Layout: d f16 | qs[32] int8.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q8_0 {
  static constexpr DType kType = DType::kQ8_0;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 34;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(static_cast<int8_t>(qs[i]));
    }
  }
};

}  // namespace tempo9::quant
