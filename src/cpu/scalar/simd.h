// The vector vocabulary in plain C++: 16 lanes as an array. Runs on any x86-64, and is what the
// other tables are checked against; same names, same meaning, same bits.
#pragma once

#include <emmintrin.h>  // SSE2, part of every x86-64: MXCSR only

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define T9_SIMD static inline __attribute__((always_inline))

namespace tempo9::cpu::scalar {

struct F32 {
  float v[16];
};
struct I32 {
  int32_t v[16];
};
struct U8 {
  uint8_t v[64];
};

constexpr int kTileRows = 1;
constexpr int kTileGroups = 1;
constexpr int kDirectRows = 1;
constexpr bool kSignedDot = false;
constexpr int kStateTiles = 1, kScanRows = 1;
constexpr int kQueryTile = 2;
constexpr int kQueryTileI16 = 2, kKeyTile = 2, kValueTile = 1;

#define T9_LANES(result, expression)                  \
  result out;                                         \
  for (int i = 0; i < 16; ++i) out.v[i] = expression; \
  return out

T9_SIMD F32 set1(float x) { T9_LANES(F32, x); }
T9_SIMD F32 zero() { return set1(0); }
T9_SIMD F32 load(const float* p) { T9_LANES(F32, p[i]); }
T9_SIMD void store(float* p, F32 x) { std::memcpy(p, x.v, sizeof x.v); }
T9_SIMD F32 load_part(const float* p, uint32_t n) {
  T9_LANES(F32, static_cast<uint32_t>(i) < n ? p[i] : 0.0f);
}
T9_SIMD void store_part(float* p, F32 x, uint32_t n) { std::memcpy(p, x.v, n * sizeof(float)); }
T9_SIMD F32 add(F32 x, F32 y) { T9_LANES(F32, x.v[i] + y.v[i]); }
T9_SIMD F32 sub(F32 x, F32 y) { T9_LANES(F32, x.v[i] - y.v[i]); }
T9_SIMD F32 mul(F32 x, F32 y) { T9_LANES(F32, x.v[i] * y.v[i]); }
T9_SIMD F32 div(F32 x, F32 y) { T9_LANES(F32, x.v[i] / y.v[i]); }
T9_SIMD F32 fma(F32 x, F32 y, F32 z) { T9_LANES(F32, __builtin_fmaf(x.v[i], y.v[i], z.v[i])); }
T9_SIMD F32 max(F32 x, F32 y) { T9_LANES(F32, x.v[i] > y.v[i] ? x.v[i] : y.v[i]); }
T9_SIMD F32 min(F32 x, F32 y) { T9_LANES(F32, x.v[i] < y.v[i] ? x.v[i] : y.v[i]); }
T9_SIMD F32 abs(F32 x) { T9_LANES(F32, __builtin_fabsf(x.v[i])); }
// Sum and maximum of the 16 lanes by one fixed tree: lane i with i + 8, i + 4, i + 2, i + 1.
T9_SIMD float reduce_add(F32 x) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x.v[i] += x.v[i + width];
  }
  return x.v[0];
}
T9_SIMD float reduce_max(F32 x) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x.v[i] = x.v[i] > x.v[i + width] ? x.v[i] : x.v[i + width];
  }
  return x.v[0];
}
T9_SIMD F32 fill_from(F32 x, uint32_t n, float value) {
  T9_LANES(F32, static_cast<uint32_t>(i) < n ? x.v[i] : value);
}
T9_SIMD F32 fill_below(F32 x, uint32_t n, float value) {
  T9_LANES(F32, static_cast<uint32_t>(i) < n ? value : x.v[i]);
}
T9_SIMD F32 zero_below(F32 x, F32 by, float limit) {
  T9_LANES(F32, by.v[i] < limit ? 0.0f : x.v[i]);
}
T9_SIMD F32 select_small(F32 x, F32 y, F32 by, float limit) {
  T9_LANES(F32, __builtin_fabsf(by.v[i]) < limit ? x.v[i] : y.v[i]);
}

T9_SIMD I32 iset1(int32_t x) { T9_LANES(I32, x); }
T9_SIMD I32 izero() { return iset1(0); }
T9_SIMD I32 iadd(I32 x, I32 y) {
  T9_LANES(I32,
           static_cast<int32_t>(static_cast<uint32_t>(x.v[i]) + static_cast<uint32_t>(y.v[i])));
}
T9_SIMD I32 isub(I32 x, I32 y) {
  T9_LANES(I32,
           static_cast<int32_t>(static_cast<uint32_t>(x.v[i]) - static_cast<uint32_t>(y.v[i])));
}
T9_SIMD I32 iand(I32 x, I32 y) { T9_LANES(I32, x.v[i] & y.v[i]); }
T9_SIMD I32 shift_left(I32 x, int n) {
  T9_LANES(I32, static_cast<int32_t>(static_cast<uint32_t>(x.v[i]) << n));
}
T9_SIMD I32 shift_right(I32 x, int n) { T9_LANES(I32, x.v[i] >> n); }
T9_SIMD F32 to_f32(I32 x) { T9_LANES(F32, static_cast<float>(x.v[i])); }
// Nearest, ties to even: the mode that every thread runs in.
T9_SIMD I32 round_to_i32(F32 x) { T9_LANES(I32, _mm_cvtss_si32(_mm_set_ss(x.v[i]))); }
T9_SIMD F32 as_f32(I32 x) {
  F32 out;
  std::memcpy(out.v, x.v, sizeof out.v);
  return out;
}
T9_SIMD I32 as_i32(F32 x) {
  I32 out;
  std::memcpy(out.v, x.v, sizeof out.v);
  return out;
}
T9_SIMD void store_i8(int8_t* p, I32 x) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(x.v[i]);
}
T9_SIMD void store_i32(int32_t* p, I32 x) { std::memcpy(p, x.v, sizeof x.v); }
T9_SIMD I32 load_i32(const void* p) {
  I32 out;
  std::memcpy(out.v, p, sizeof out.v);
  return out;
}
T9_SIMD I32 broadcast_32(const void* p) {
  int32_t x;
  std::memcpy(&x, p, sizeof x);
  return iset1(x);
}
T9_SIMD void store_i16(int16_t* p, I32 x) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int16_t>(x.v[i]);
}
// The bytes at even and at odd places, each as a 16-bit integer.
T9_SIMD I32 bytes_at(I32 x, int first) {
  int8_t bytes[64];
  int16_t wide[32];
  std::memcpy(bytes, x.v, sizeof bytes);
  for (int i = 0; i < 32; ++i) wide[i] = bytes[2 * i + first];
  std::memcpy(x.v, wide, sizeof wide);
  return x;
}
T9_SIMD I32 even_bytes(I32 x) { return bytes_at(x, 0); }
T9_SIMD I32 odd_bytes(I32 x) { return bytes_at(x, 1); }
// Wraps, as the instructions do: slots of a page that no key has taken yet hold anything.
T9_SIMD I32 dot_i16(I32 acc, I32 w, I32 a) {
  int16_t pairs[32], by[32];
  std::memcpy(pairs, w.v, sizeof pairs);
  std::memcpy(by, a.v, sizeof by);
  T9_LANES(I32, static_cast<int32_t>(static_cast<uint32_t>(acc.v[i]) +
                                     static_cast<uint32_t>(pairs[2 * i] * by[2 * i]) +
                                     static_cast<uint32_t>(pairs[2 * i + 1] * by[2 * i + 1])));
}

T9_SIMD float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u, mantissa = h & 1023u;
  uint32_t bits;
  if (exponent == 31) {
    bits = sign | 0x7F800000u | (mantissa << 13) | (mantissa != 0 ? 0x400000u : 0u);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    std::memcpy(&bits, &value, sizeof bits);
    bits |= sign;
  }
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
T9_SIMD uint16_t float_to_half(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7FFFFFFFu;
  if (bits > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((bits >> 13) & 0x1FFu));
  if (bits >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7C00u);
  if (bits < 0x38800000u) {  // subnormal: adding 0.5 lines the result up in the low bits, rounded
                             // by the adder
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    const float aligned = magnitude + 0.5f;
    uint32_t aligned_bits;
    std::memcpy(&aligned_bits, &aligned, sizeof aligned_bits);
    return static_cast<uint16_t>(sign | (aligned_bits - 0x3F000000u));
  }
  bits +=
      0xFFFu + ((bits >> 13) & 1u);  // round to even; the carry may reach infinity, which is right
  return static_cast<uint16_t>(sign | ((bits - 0x38000000u) >> 13));
}
T9_SIMD F32 load_f16(const void* p) {
  uint16_t h[16];
  std::memcpy(h, p, sizeof h);
  T9_LANES(F32, half_to_float(h[i]));
}
T9_SIMD void store_f16(void* p, F32 x) {
  uint16_t h[16];
  for (int i = 0; i < 16; ++i) h[i] = float_to_half(x.v[i]);
  std::memcpy(p, h, sizeof h);
}
T9_SIMD F32 load_bf16(const void* p) {
  uint16_t h[16];
  std::memcpy(h, p, sizeof h);
  I32 wide;
  for (int i = 0; i < 16; ++i) wide.v[i] = static_cast<int32_t>(static_cast<uint32_t>(h[i]) << 16);
  return as_f32(wide);
}
T9_SIMD F32 load_e4m3_half(const uint8_t* p) {
  T9_LANES(F32, half_to_float(static_cast<uint16_t>(p[i] << 7)) * 128.0f);
}
T9_SIMD I32 load_u8_i32(const uint8_t* p) { T9_LANES(I32, p[i]); }
T9_SIMD F32 load_u8(const uint8_t* p) { T9_LANES(F32, static_cast<float>(p[i])); }
T9_SIMD F32 load_i8(const uint8_t* p) {
  T9_LANES(F32, static_cast<float>(static_cast<int8_t>(p[i])));
}

#define T9_BYTES(expression)                                                \
  U8 out;                                                                   \
  for (int i = 0; i < 64; ++i) out.v[i] = static_cast<uint8_t>(expression); \
  return out

T9_SIMD I32 load_u16_i32(const uint8_t* p) { T9_LANES(I32, p[2 * i] | p[2 * i + 1] << 8); }
T9_SIMD U8 as_bytes(I32 x) {
  U8 out;
  std::memcpy(out.v, x.v, sizeof out.v);
  return out;
}
T9_SIMD I32 as_lanes(U8 x) {
  I32 out;
  std::memcpy(out.v, x.v, sizeof out.v);
  return out;
}
T9_SIMD U8 gather(const uint32_t* table, I32 index) {
  I32 out;
  for (int i = 0; i < 16; ++i) out.v[i] = static_cast<int32_t>(table[index.v[i]]);
  return as_bytes(out);
}
T9_SIMD U8 zero_bytes() { T9_BYTES(0); }
T9_SIMD U8 load_bytes(const uint8_t* p) { T9_BYTES(p[i]); }
T9_SIMD void store_bytes(uint8_t* p, U8 x) { std::memcpy(p, x.v, sizeof x.v); }
template <int kShift, int kMask>
T9_SIMD U8 take(U8 x) {
  T9_BYTES((kShift < 0 ? x.v[i] << -kShift : x.v[i] >> kShift) & kMask);
}
template <int kShift, int kMask>
T9_SIMD U8 or_take(U8 w, U8 x) {
  const U8 bits = take<kShift, kMask>(x);
  T9_BYTES(w.v[i] | bits.v[i]);
}
T9_SIMD U8 look_up(U8 x, const uint8_t* table) { T9_BYTES(table[x.v[i]]); }
T9_SIMD U8 around_128(U8 x, const uint8_t* bits) {
  T9_BYTES(((bits[i / 8] >> (i % 8)) & 1) != 0 ? 128 - x.v[i] : 128 + x.v[i]);
}
#undef T9_BYTES

template <int kZero>
T9_SIMD I32 dot(I32 acc, U8 w, I32 a) {
  int8_t bytes[64];
  std::memcpy(bytes, a.v, sizeof bytes);
  for (int i = 0; i < 16; ++i) {
    for (int t = 0; t < 4; ++t) acc.v[i] += w.v[4 * i + t] * bytes[4 * i + t];
  }
  return acc;
}
#undef T9_LANES
template <int kZero>
T9_SIMD I32 dot_at(I32 acc, U8 w, const void* p) {
  return dot<kZero>(acc, w, broadcast_32(p));
}

T9_SIMD void flush_denormals() { _mm_setcsr(_mm_getcsr() | 0x8040u); }
T9_SIMD float sqrt_scalar(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

}  // namespace tempo9::cpu::scalar
