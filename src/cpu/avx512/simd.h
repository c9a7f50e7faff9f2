// The vector vocabulary of the AVX-512 + VNNI table: 16 lanes of f32 or i32, 64 bytes of weights.
// Every table gives the same names the same meaning, lane for lane and bit for bit.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define T9_SIMD static inline __attribute__((always_inline))

namespace tempo9::cpu::avx512 {

using F32 = __m512;
using I32 = __m512i;
using U8 = __m512i;

constexpr int kTileRows = 7;  // register tile of the panel kernel: rows x groups of 16 columns
constexpr int kTileGroups = 2;
constexpr int kDirectRows = 8;      // rows that decode weights in registers together
constexpr bool kSignedDot = false;  // whether dot<128> takes the zero point off by itself
constexpr int kStateTiles = 2, kScanRows = 4;  // tiles of a state, and rows, that pass it together
constexpr int kQueryTile = 6;  // query vectors that share one load of keys or values
constexpr int kQueryTileI16 = 6, kKeyTile = 4, kValueTile = 4;  // queries x vectors of keys, dims

T9_SIMD F32 zero() { return _mm512_setzero_ps(); }
T9_SIMD F32 set1(float x) { return _mm512_set1_ps(x); }
T9_SIMD F32 load(const float* p) { return _mm512_loadu_ps(p); }
T9_SIMD void store(float* p, F32 x) { _mm512_storeu_ps(p, x); }
T9_SIMD __mmask16 first_lanes(uint32_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
T9_SIMD F32 load_part(const float* p, uint32_t n) {
  return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
T9_SIMD void store_part(float* p, F32 x, uint32_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), x);
}
T9_SIMD F32 add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
T9_SIMD F32 sub(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
T9_SIMD F32 mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
T9_SIMD F32 div(F32 a, F32 b) { return _mm512_div_ps(a, b); }
T9_SIMD F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
T9_SIMD F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
T9_SIMD F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
T9_SIMD F32 abs(F32 a) { return _mm512_abs_ps(a); }
// Sum and maximum of the 16 lanes by one fixed tree: lane i with i + 8, i + 4, i + 2, i + 1.
T9_SIMD float reduce_add(F32 x) {
  const __m256 by8 = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
T9_SIMD float reduce_max(F32 x) {
  const __m256 by8 = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}
// Lanes from index n on become value.
T9_SIMD F32 fill_from(F32 a, uint32_t n, float value) {
  return n >= 16 ? a : _mm512_mask_blend_ps(first_lanes(n), _mm512_set1_ps(value), a);
}
// Lanes below index n become value.
T9_SIMD F32 fill_below(F32 a, uint32_t n, float value) {
  return n >= 16 ? _mm512_set1_ps(value)
                 : _mm512_mask_blend_ps(first_lanes(n), a, _mm512_set1_ps(value));
}

// Lanes of a where x is below limit become 0; where x is no number they stay.
T9_SIMD F32 zero_below(F32 a, F32 x, float limit) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_NLT_UQ), a);
}
// a where |x| < limit, else b.
T9_SIMD F32 select_small(F32 a, F32 b, F32 x, float limit) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(abs(x), _mm512_set1_ps(limit), _CMP_LT_OQ), b, a);
}

T9_SIMD I32 izero() { return _mm512_setzero_si512(); }
T9_SIMD I32 iset1(int32_t x) { return _mm512_set1_epi32(x); }
T9_SIMD I32 iadd(I32 a, I32 b) { return _mm512_add_epi32(a, b); }
T9_SIMD I32 isub(I32 a, I32 b) { return _mm512_sub_epi32(a, b); }
T9_SIMD I32 iand(I32 a, I32 b) { return _mm512_and_si512(a, b); }
T9_SIMD I32 shift_left(I32 a, int n) { return _mm512_slli_epi32(a, static_cast<unsigned>(n)); }
T9_SIMD I32 shift_right(I32 a, int n) { return _mm512_srai_epi32(a, static_cast<unsigned>(n)); }
T9_SIMD F32 to_f32(I32 a) { return _mm512_cvtepi32_ps(a); }
T9_SIMD I32 round_to_i32(F32 a) { return _mm512_cvtps_epi32(a); }  // nearest, ties to even
T9_SIMD F32 as_f32(I32 a) { return _mm512_castsi512_ps(a); }
T9_SIMD I32 as_i32(F32 a) { return _mm512_castps_si512(a); }
T9_SIMD void store_i8(int8_t* p, I32 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
T9_SIMD void store_i32(int32_t* p, I32 a) { _mm512_storeu_si512(p, a); }
// The four bytes at p in every lane.
T9_SIMD I32 broadcast_32(const void* p) {
  return _mm512_set1_epi32(*static_cast<const int32_t __attribute__((may_alias, aligned(1)))*>(p));
}
T9_SIMD I32 load_i32(const void* p) { return _mm512_loadu_si512(p); }
T9_SIMD void store_i16(int16_t* p, I32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a));
}
// The bytes at even and at odd places, each as a 16-bit integer.
T9_SIMD I32 even_bytes(I32 a) { return _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8); }
T9_SIMD I32 odd_bytes(I32 a) { return _mm512_srai_epi16(a, 8); }
// The dot products are assembly because g++ 12 copies each accumulator around the intrinsic.
// Lane c += w[2c] a[2c] + w[2c + 1] a[2c + 1] in 16-bit integers.
T9_SIMD I32 dot_i16(I32 acc, I32 w, I32 a) {
  asm("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(a));
  return acc;
}

T9_SIMD F32 load_f16(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
T9_SIMD void store_f16(void* p, F32 x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
T9_SIMD F32 load_bf16(const void* p) {
  return as_f32(_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))), 16));
}
// 8-bit floats (E4M3, no sign), halved: as an f16's exponent and mantissa they are 2^8 too small.
T9_SIMD F32 load_e4m3_half(const uint8_t* p) {
  const __m256i half = _mm256_slli_epi16(
      _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 7);
  return _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(128.0f));
}
T9_SIMD I32 load_u8_i32(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
T9_SIMD F32 load_u8(const uint8_t* p) { return to_f32(load_u8_i32(p)); }
T9_SIMD F32 load_i8(const uint8_t* p) {
  return to_f32(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

T9_SIMD I32 load_u16_i32(const uint8_t* p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
// Lane c: table[index[c]], as four bytes.
T9_SIMD U8 gather(const uint32_t* table, I32 index) {
  return _mm512_i32gather_epi32(index, table, 4);
}
T9_SIMD I32 as_lanes(U8 x) { return x; }
T9_SIMD U8 as_bytes(I32 x) { return x; }

T9_SIMD U8 zero_bytes() { return _mm512_setzero_si512(); }
T9_SIMD U8 load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
T9_SIMD void store_bytes(uint8_t* p, U8 x) { _mm512_storeu_si512(p, x); }
// The bytes' bits, kShift places lower (or higher, below zero), that are set in kMask.
template <int kShift>
T9_SIMD U8 move_bits(U8 x) {
  if constexpr (kShift < 0) return _mm512_slli_epi16(x, -kShift);
  return kShift == 0 ? x : _mm512_srli_epi16(x, kShift);
}
template <int kShift, int kMask>
T9_SIMD U8 take(U8 x) {
  if constexpr (kMask == 255) return x;
  return _mm512_and_si512(move_bits<kShift>(x), _mm512_set1_epi8(static_cast<char>(kMask)));
}
// w with them added; w has none there.
template <int kShift, int kMask>
T9_SIMD U8 or_take(U8 w, U8 x) {
  return _mm512_ternarylogic_epi32(w, move_bits<kShift>(x),
                                   _mm512_set1_epi8(static_cast<char>(kMask)), 0xF8);
}
// table[x] of each byte, 16 entries.
T9_SIMD U8 look_up(U8 x, const uint8_t* table) {
  return _mm512_shuffle_epi8(
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), x);
}
// 128 + x, or 128 - x in the bytes whose bit is set.
T9_SIMD U8 around_128(U8 x, const uint8_t* bits) {
  const __m512i middle = _mm512_set1_epi8(static_cast<char>(128));
  return _mm512_mask_sub_epi8(
      _mm512_add_epi8(middle, x),
      *reinterpret_cast<const uint64_t __attribute__((may_alias, aligned(1)))*>(bits), middle, x);
}

// Lane c += w[4c .. 4c+3] . a[4c .. 4c+3]
template <int kZero>
T9_SIMD I32 dot(I32 acc, U8 w, I32 a) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(a));
  return acc;
}
// The same with the four bytes at p in every lane of a.
template <int kZero>
T9_SIMD I32 dot_at(I32 acc, U8 w, const void* p) {
  asm("vpdpbusd %2%{1to16%}, %1, %0"
      : "+v"(acc)
      : "v"(w), "m"(*static_cast<const int32_t __attribute__((may_alias, aligned(1)))*>(p)));
  return acc;
}

T9_SIMD void flush_denormals() { _mm_setcsr(_mm_getcsr() | 0x8040u); }
T9_SIMD float sqrt_scalar(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

}  // namespace tempo9::cpu::avx512
