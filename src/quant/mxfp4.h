// MXFP4: 32 weights, OCP microscaling: a power of two times a 4-bit float (E2M1).
// Layout: e, an E8M0 exponent | qs[16]: low nibbles are weights 0-15, high nibbles 16-31.
// Source: OCP Microscaling Formats (MX) 1.0.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

// Twice the value of a 4-bit float of two exponent bits and one mantissa bit: 0, 1, 2, 3, 4, 6, 8,
// 12 and a sign.
T9_HOST_DEVICE T9_INLINE int e2m1_doubled(int code) {
  const int exponent = (code >> 1) & 3;
  const int mantissa = code & 1;
  const int magnitude = exponent == 0 ? mantissa : (2 + mantissa) << (exponent - 1);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

// 2^(e - 128): half of the E8M0 scale, to go with doubled values. The two smallest are subnormal
// floats.
T9_HOST_DEVICE T9_INLINE float e8m0_half_to_f32(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

struct MXFP4 {
  static constexpr DType kType = DType::kMXFP4;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 17;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = e8m0_half_to_f32(block[0]);
    const uint8_t* qs = block + 1;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(e2m1_doubled(bits_of(qs[i % 16], 4 * (i / 16), 4)));
    }
  }
};

}  // namespace tempo9::quant
