// Q1_0: 128 weights of one bit, w = d if the bit is set, else -d.
// Layout: d f16 | qs[16], lowest bit first.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q1_0 {
  static constexpr DType kType = DType::kQ1_0;
  static constexpr int kBlockElements = 128;
  static constexpr int kBlockBytes = 18;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int i = 0; i < kBlockElements; ++i) out[i] = bits_of(qs[i / 8], i % 8, 1) != 0 ? d : -d;
  }
};

}  // namespace tempo9::quant
