// NVFP4: 64 weights in 4 groups of 16, an 8-bit float (unsigned E4M3, bias 7) times a 4-bit float
// (E2M1). Layout: d[4], one scale a group | qs[32], 8 bytes a group: low nibbles are its weights
// 0-7, high nibbles 8-15.
#pragma once

#include "quant/half.h"
#include "quant/mxfp4.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

// Half of the scale, to go with doubled values; the NaN code 0x7F reads as zero and the top bit is
// ignored.
T9_HOST_DEVICE T9_INLINE float ue4m3_half_to_f32(uint8_t code) {
  if (code == 0x7F) return 0.0f;
  const uint32_t exponent = (code >> 3) & 0xFu;
  const uint32_t mantissa = code & 0x7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
  return std::bit_cast<float>(((exponent + (127 - 8)) << 23) | (mantissa << 20));
}

struct NVFP4 {
  static constexpr DType kType = DType::kNVFP4;
  static constexpr int kBlockElements = 64;
  static constexpr int kBlockBytes = 36;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* qs = block + 4;
    for (int i = 0; i < kBlockElements; ++i) {
      const int group = i / 16;
      const float d = ue4m3_half_to_f32(block[group]);
      const int code = bits_of(qs[8 * group + i % 8], 4 * ((i / 8) % 2), 4);
      out[i] = d * static_cast<float>(e2m1_doubled(code));
    }
  }
};

}  // namespace tempo9::quant
