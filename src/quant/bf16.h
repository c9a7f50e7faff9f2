// BF16: the upper half of an f32.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct BF16 {
  static constexpr DType kType = DType::kBF16;
  static constexpr int kBlockElements = 1;
  static constexpr int kBlockBytes = 2;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    out[0] = bf16_to_f32(load_u16(block));
  }
};

}  // namespace tempo9::quant
