// F32: the float itself, little-endian, at any address.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct F32 {
  static constexpr DType kType = DType::kF32;
  static constexpr int kBlockElements = 1;
  static constexpr int kBlockBytes = 4;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    out[0] = std::bit_cast<float>(load_u32(block));
  }
};

}  // namespace tempo9::quant
