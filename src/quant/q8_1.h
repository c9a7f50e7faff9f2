// Q8_1: 32 weights of eight bits, w = d * q. ggml's activation format; it may still stand in a
// file. Layout: d f16 | s f16: d times the sum of the q, not needed to decode | qs[32] int8.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q8_1 {
  static constexpr DType kType = DType::kQ8_1;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 36;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 4;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(static_cast<int8_t>(qs[i]));
    }
  }
};

}  // namespace tempo9::quant
