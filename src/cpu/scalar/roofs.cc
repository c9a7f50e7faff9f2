// Roofs of any x86-64. Its compilers may use SSE2 where the code says a loop of integers, so the
// roof is SSE2's: pmaddwd + paddd on bytes widened beforehand, mulps + addps, 128-bit loads.
#include <emmintrin.h>

#include "cpu/roof_kernels.h"

namespace tempo9::cpu::scalar {
namespace {

constexpr int kChains = 12;  // of 16 registers

uint32_t int8_dots(uint32_t n_rounds, uint8_t w, int8_t x) {
  __m128i sum[kChains];
  for (__m128i& s : sum) s = _mm_setzero_si128();
  __m128i weights = _mm_set1_epi16(w);
  const __m128i activations = _mm_set1_epi16(x);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+x"(weights));
      sum[i] = _mm_add_epi32(sum[i], _mm_madd_epi16(weights, activations));
    }
  }
  alignas(16) uint32_t lanes[4];
  for (int i = 1; i < kChains; ++i) sum[0] = _mm_add_epi32(sum[0], sum[i]);
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), sum[0]);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

float f32_fmas(uint32_t n_rounds, float w, float x) {
  __m128 sum[kChains];
  for (__m128& s : sum) s = _mm_setzero_ps();
  __m128 weights = _mm_set1_ps(w);
  const __m128 activations = _mm_set1_ps(x);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+x"(weights));
      sum[i] = _mm_add_ps(sum[i], _mm_mul_ps(weights, activations));
    }
  }
  alignas(16) float lanes[4];
  for (int i = 1; i < kChains; ++i) sum[0] = _mm_add_ps(sum[0], sum[i]);
  _mm_store_ps(lanes, sum[0]);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

uint64_t read(const uint8_t* data, size_t n_bytes) {
  constexpr size_t kWidth = sizeof(__m128i);
  constexpr size_t kSums = 8;
  __m128i sum[kSums];
  for (__m128i& s : sum) s = _mm_setzero_si128();
  for (const uint8_t* at = data; at < data + n_bytes; at += kSums * kWidth) {
#pragma GCC unroll 8
    for (size_t i = 0; i < kSums; ++i) {
      const auto* words = reinterpret_cast<const __m128i*>(at + i * kWidth);
      sum[i] = _mm_add_epi64(sum[i], _mm_load_si128(words));
    }
  }
  alignas(16) uint64_t lanes[2];
  for (size_t i = 1; i < kSums; ++i) sum[0] = _mm_add_epi64(sum[0], sum[i]);
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), sum[0]);
  return lanes[0] + lanes[1];
}

}  // namespace

extern const RoofKernels kRoofs;
const RoofKernels kRoofs = {.name = "scalar",
                            .dots_per_round = kChains * 8,
                            .fmas_per_round = kChains * 4,
                            .int8_dots = int8_dots,
                            .f32_fmas = f32_fmas,
                            .read = read};

}  // namespace tempo9::cpu::scalar
