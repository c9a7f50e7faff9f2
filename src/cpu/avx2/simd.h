// The vector vocabulary of the AVX2 + FMA + F16C table: 16 lanes as two 256-bit halves.
// Same names and meaning as every other table, lane for lane and bit for bit. Also of the tables
// that have VNNI in 256 bits: they say T9_ISA_SET, their namespace, and T9_VNNI_ENCODING.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#define T9_SIMD static inline __attribute__((always_inline))

#ifndef T9_ISA_SET
#define T9_ISA_SET avx2
#endif

namespace tempo9::cpu::T9_ISA_SET {

struct F32 {
  __m256 a, b;
};
struct I32 {
  __m256i a, b;
};
struct U8 {
  __m256i a, b;
};

// Of 16 registers. The floats of 3 rows are spilled once a block, which costs less than reading the
// weights for every 2; rows that decode them in registers gain from 4 (both measured).
constexpr int kTileRows = 3;
constexpr int kTileGroups = 1;
constexpr int kDirectRows = 4;
#ifdef T9_VNNI_ENCODING
constexpr bool kSignedDot = false;
#else
constexpr bool kSignedDot = true;
#endif
constexpr int kStateTiles = 1, kScanRows = 2;
constexpr int kQueryTile = 2;
constexpr int kQueryTileI16 = 2, kKeyTile = 2, kValueTile = 2;

T9_SIMD F32 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
T9_SIMD F32 set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
T9_SIMD F32 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
T9_SIMD void store(float* p, F32 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
T9_SIMD __m256i lane_index(int first) {
  return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
}
// All ones in the lanes below n.
T9_SIMD I32 first_lanes(uint32_t n) {
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(n));
  return {_mm256_cmpgt_epi32(limit, lane_index(0)), _mm256_cmpgt_epi32(limit, lane_index(8))};
}
T9_SIMD F32 load_part(const float* p, uint32_t n) {
  const I32 m = first_lanes(n);
  return {_mm256_maskload_ps(p, m.a), _mm256_maskload_ps(p + 8, m.b)};
}
T9_SIMD void store_part(float* p, F32 x, uint32_t n) {
  const I32 m = first_lanes(n);
  _mm256_maskstore_ps(p, m.a, x.a);
  _mm256_maskstore_ps(p + 8, m.b, x.b);
}
T9_SIMD F32 add(F32 x, F32 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
T9_SIMD F32 sub(F32 x, F32 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
T9_SIMD F32 mul(F32 x, F32 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
T9_SIMD F32 div(F32 x, F32 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
T9_SIMD F32 fma(F32 x, F32 y, F32 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
T9_SIMD F32 max(F32 x, F32 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
T9_SIMD F32 min(F32 x, F32 y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
T9_SIMD F32 abs(F32 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b)};
}
// Sum and maximum of the 16 lanes by one fixed tree: lane i with i + 8, i + 4, i + 2, i + 1.
T9_SIMD float reduce_add(F32 x) {
  const __m256 by8 = _mm256_add_ps(x.a, x.b);
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
T9_SIMD float reduce_max(F32 x) {
  const __m256 by8 = _mm256_max_ps(x.a, x.b);
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}
T9_SIMD F32 select(I32 mask, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_castsi256_ps(mask.a)),
          _mm256_blendv_ps(no.b, yes.b, _mm256_castsi256_ps(mask.b))};
}
T9_SIMD F32 fill_from(F32 x, uint32_t n, float value) {
  return select(first_lanes(n), x, set1(value));
}
T9_SIMD F32 fill_below(F32 x, uint32_t n, float value) {
  return select(first_lanes(n), set1(value), x);
}
T9_SIMD F32 zero_below(F32 x, F32 by, float limit) {
  const __m256 l = _mm256_set1_ps(limit);
  return {_mm256_and_ps(_mm256_cmp_ps(by.a, l, _CMP_NLT_UQ), x.a),
          _mm256_and_ps(_mm256_cmp_ps(by.b, l, _CMP_NLT_UQ), x.b)};
}
T9_SIMD F32 select_small(F32 x, F32 y, F32 by, float limit) {
  const __m256 l = _mm256_set1_ps(limit);
  const F32 size = abs(by);
  return {_mm256_blendv_ps(y.a, x.a, _mm256_cmp_ps(size.a, l, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.b, x.b, _mm256_cmp_ps(size.b, l, _CMP_LT_OQ))};
}

T9_SIMD I32 izero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
T9_SIMD I32 iset1(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
T9_SIMD I32 iadd(I32 x, I32 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
T9_SIMD I32 isub(I32 x, I32 y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
T9_SIMD I32 iand(I32 x, I32 y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
T9_SIMD I32 shift_left(I32 x, int n) {
  return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
}
T9_SIMD I32 shift_right(I32 x, int n) {
  return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)};
}
T9_SIMD F32 to_f32(I32 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
T9_SIMD I32 round_to_i32(F32 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
T9_SIMD F32 as_f32(I32 x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
T9_SIMD I32 as_i32(F32 x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
T9_SIMD void store_i32(int32_t* p, I32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), x.b);
}
T9_SIMD I32 load_i32(const void* p) {
  const auto* q = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
T9_SIMD void store_i16(int16_t* p, I32 x) {
  // packs works within 128-bit halves; the permutation puts them in order.
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xD8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), packed);
}
T9_SIMD I32 broadcast_32(const void* p) {
  const __m256i x =
      _mm256_set1_epi32(*static_cast<const int32_t __attribute__((may_alias, aligned(1)))*>(p));
  return {x, x};
}
// The bytes at even and at odd places, each as a 16-bit integer.
T9_SIMD I32 even_bytes(I32 x) {
  return {_mm256_srai_epi16(_mm256_slli_epi16(x.a, 8), 8),
          _mm256_srai_epi16(_mm256_slli_epi16(x.b, 8), 8)};
}
T9_SIMD I32 odd_bytes(I32 x) { return {_mm256_srai_epi16(x.a, 8), _mm256_srai_epi16(x.b, 8)}; }
T9_SIMD I32 dot_i16(I32 acc, I32 w, I32 a) {
#ifdef T9_VNNI_ENCODING
  asm(T9_VNNI_ENCODING " vpdpwssd %2, %1, %0" : "+x"(acc.a) : "x"(w.a), "x"(a.a));
  asm(T9_VNNI_ENCODING " vpdpwssd %2, %1, %0" : "+x"(acc.b) : "x"(w.b), "x"(a.b));
  return acc;
#else
  return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(w.a, a.a)),
          _mm256_add_epi32(acc.b, _mm256_madd_epi16(w.b, a.b))};
#endif
}
T9_SIMD void store_i8(int8_t* p, I32 x) {
  int32_t wide[16];
  store_i32(wide, x);
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(wide[i]);
}

T9_SIMD __m128i load_128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
T9_SIMD F32 load_f16(const void* p) {
  const auto* q = static_cast<const uint16_t*>(p);
  return {_mm256_cvtph_ps(load_128(q)), _mm256_cvtph_ps(load_128(q + 8))};
}
T9_SIMD void store_f16(void* p, F32 x) {
  auto* q = static_cast<__m128i*>(p);
  _mm_storeu_si128(q, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  _mm_storeu_si128(q + 1, _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
T9_SIMD F32 load_bf16(const void* p) {
  const auto* q = static_cast<const uint16_t*>(p);
  return as_f32({_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_128(q)), 16),
                 _mm256_slli_epi32(_mm256_cvtepu16_epi32(load_128(q + 8)), 16)});
}
T9_SIMD F32 load_e4m3_half(const uint8_t* p) {
  const __m256i half = _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_128(p)), 7);
  return mul({_mm256_cvtph_ps(_mm256_castsi256_si128(half)),
              _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1))},
             set1(128.0f));
}
T9_SIMD I32 load_u8_i32(const uint8_t* p) {
  const __m128i bytes = load_128(p);
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
T9_SIMD F32 load_u8(const uint8_t* p) { return to_f32(load_u8_i32(p)); }
T9_SIMD F32 load_i8(const uint8_t* p) {
  const __m128i bytes = load_128(p);
  return to_f32({_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))});
}

T9_SIMD I32 load_u16_i32(const uint8_t* p) {
  return {_mm256_cvtepu16_epi32(load_128(p)), _mm256_cvtepu16_epi32(load_128(p + 16))};
}
T9_SIMD U8 gather(const uint32_t* table, I32 index) {
  const int* words = reinterpret_cast<const int*>(table);
  return {_mm256_i32gather_epi32(words, index.a, 4), _mm256_i32gather_epi32(words, index.b, 4)};
}
T9_SIMD I32 as_lanes(U8 x) { return {x.a, x.b}; }
T9_SIMD U8 as_bytes(I32 x) { return {x.a, x.b}; }

T9_SIMD U8 zero_bytes() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
T9_SIMD U8 load_bytes(const uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
T9_SIMD void store_bytes(uint8_t* p, U8 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), x.b);
}
template <int kShift>
T9_SIMD __m256i move_bits(__m256i x) {
  if constexpr (kShift < 0) return _mm256_slli_epi16(x, -kShift);
  return kShift == 0 ? x : _mm256_srli_epi16(x, kShift);
}
template <int kShift, int kMask>
T9_SIMD U8 take(U8 x) {
  if constexpr (kMask == 255) return x;
  const __m256i m = _mm256_set1_epi8(static_cast<char>(kMask));
  return {_mm256_and_si256(move_bits<kShift>(x.a), m), _mm256_and_si256(move_bits<kShift>(x.b), m)};
}
template <int kShift, int kMask>
T9_SIMD U8 or_take(U8 w, U8 x) {
  const U8 bits = take<kShift, kMask>(x);
  return {_mm256_or_si256(w.a, bits.a), _mm256_or_si256(w.b, bits.b)};
}
T9_SIMD U8 look_up(U8 x, const uint8_t* table) {
  const __m256i t =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {_mm256_shuffle_epi8(t, x.a), _mm256_shuffle_epi8(t, x.b)};
}
// All ones in the bytes whose bit of the 32 at p is set.
T9_SIMD __m256i spread_bits(const uint8_t* p) {
  const int32_t bits = *reinterpret_cast<const int32_t __attribute__((may_alias, aligned(1)))*>(p);
  const __m256i which =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), which);
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
}
T9_SIMD U8 around_128(U8 x, const uint8_t* bits) {
  // Negated are bytes whose mask is -1: (x ^ mask) - mask.
  const __m256i a = spread_bits(bits), b = spread_bits(bits + 4);
  const __m256i middle = _mm256_set1_epi8(static_cast<char>(128));
  return {_mm256_add_epi8(middle, _mm256_sub_epi8(_mm256_xor_si256(x.a, a), a)),
          _mm256_add_epi8(middle, _mm256_sub_epi8(_mm256_xor_si256(x.b, b), b))};
}

#ifdef T9_VNNI_ENCODING  // one instruction a dot; assembly as in avx512/simd.h
template <int kZero>
T9_SIMD I32 dot(I32 acc, U8 w, I32 a) {
  asm(T9_VNNI_ENCODING " vpdpbusd %2, %1, %0" : "+x"(acc.a) : "x"(w.a), "x"(a.a));
  asm(T9_VNNI_ENCODING " vpdpbusd %2, %1, %0" : "+x"(acc.b) : "x"(w.b), "x"(a.b));
  return acc;
}
#else
#define T9_NARROW_DOTS
// maddubs adds pairs of products in 16 bits; as many as cannot overflow are added there.
struct Dots {
  __m256i a, b;
};
constexpr int dots_a_run(int max_weight) { return 32767 / (2 * 127 * max_weight); }
T9_SIMD Dots begin_dots(I32) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
T9_SIMD I32 end_dots(I32 sum, Dots dots) {
  const __m256i ones = _mm256_set1_epi16(1);
  return {_mm256_add_epi32(sum.a, _mm256_madd_epi16(dots.a, ones)),
          _mm256_add_epi32(sum.b, _mm256_madd_epi16(dots.b, ones))};
}
// Weights around 128 go as |w - 128| times a with w's sign: both factors of maddubs then fit.
template <int kZero>
T9_SIMD __m256i dot_half(__m256i acc, __m256i w, __m256i a) {
  if constexpr (kZero == 128) {
    const __m256i s = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    w = _mm256_abs_epi8(s);
    a = _mm256_sign_epi8(a, s);
  }
  return _mm256_add_epi16(acc, _mm256_maddubs_epi16(w, a));
}
template <int kZero>
T9_SIMD Dots dot(Dots acc, U8 w, I32 a) {
  return {dot_half<kZero>(acc.a, w.a, a.a), dot_half<kZero>(acc.b, w.b, a.b)};
}
#endif
template <int kZero, class Sum>
T9_SIMD Sum dot_at(Sum acc, U8 w, const void* p) {
  return dot<kZero>(acc, w, broadcast_32(p));
}

T9_SIMD void flush_denormals() { _mm_setcsr(_mm_getcsr() | 0x8040u); }
T9_SIMD float sqrt_scalar(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

}  // namespace tempo9::cpu::T9_ISA_SET
