// f16 and bf16 <-> f32, exact, in integer arithmetic only: the same bits on every machine and
// compiler. Always inlined, so that files built with wider instruction sets share no code with the
// others.
#pragma once

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace tempo9::quant {

// Exact for every half: subnormals become normal floats, infinities stay, a NaN keeps its payload
// (a signalling one stays signalling, as in numpy; F16C would make it quiet).
T9_HOST_DEVICE T9_INLINE float f16_to_f32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 0x1F) {  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  }
  if (exponent == 0) {
    // Subnormal: mantissa * 2^-24, a product of two exact floats whose result is a normal float.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + (127 - 15)) << 23) | (mantissa << 13));
}

// Rounds to nearest, ties to even, as F16C does: overflow gives infinity, a NaN stays a (quiet)
// NaN.
T9_HOST_DEVICE T9_INLINE uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu));
  }
  if (magnitude >= 0x477FF000u) {  // 65520 and above round to infinity
    return static_cast<uint16_t>(sign | 0x7C00u);
  }
  if (magnitude <
      0x33000000u) {  // below 2^-25 rounds to zero (2^-25 itself is a tie, and zero is even)
    return static_cast<uint16_t>(sign);
  }
  uint32_t kept = 0;
  uint32_t dropped = 0;
  uint32_t tie = 0;
  if (magnitude < 0x38800000u) {  // below 2^-14: a subnormal half, whose unit is 2^-24
    const uint32_t mantissa = (magnitude & 0x007FFFFFu) | 0x00800000u;
    const uint32_t shift = 126u - (magnitude >> 23);  // 14 to 24
    kept = mantissa >> shift;
    dropped = mantissa & ((1u << shift) - 1);
    tie = 1u << (shift - 1);
  } else {
    const uint32_t rebased = magnitude - ((127u - 15u) << 23);
    kept = rebased >> 13;
    dropped = rebased & 0x1FFFu;
    tie = 0x1000u;
  }
  // A carry out of the mantissa moves into the exponent, which is what rounding up to a power of
  // two means.
  if (dropped > tie || (dropped == tie && (kept & 1u) != 0)) ++kept;
  return static_cast<uint16_t>(sign | kept);
}

// A bf16 is the upper half of an f32.
T9_HOST_DEVICE T9_INLINE float bf16_to_f32(uint16_t bf16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
}

// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
T9_HOST_DEVICE T9_INLINE uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// Little-endian loads from any address.
T9_HOST_DEVICE T9_INLINE uint16_t load_u16(const uint8_t* p) {
  return static_cast<uint16_t>(p[0] | (p[1] << 8));
}
T9_HOST_DEVICE T9_INLINE uint32_t load_u32(const uint8_t* p) {
  return static_cast<uint32_t>(load_u16(p)) | (static_cast<uint32_t>(load_u16(p + 2)) << 16);
}
T9_HOST_DEVICE T9_INLINE float load_f16(const uint8_t* p) { return f16_to_f32(load_u16(p)); }

// Bits [shift, shift + width) of a byte.
T9_HOST_DEVICE T9_INLINE int bits_of(uint8_t byte, int shift, int width) {
  return (byte >> shift) & ((1 << width) - 1);
}

}  // namespace tempo9::quant
