// F16: IEEE half precision.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct F16 {
  static constexpr DType kType = DType::kF16;
  static constexpr int kBlockElements = 1;
  static constexpr int kBlockBytes = 2;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    out[0] = load_f16(block);
  }
};

}  // namespace tempo9::quant
