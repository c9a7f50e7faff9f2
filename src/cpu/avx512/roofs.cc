// Roofs of AVX-512 with VNNI: vpdpbusd, vfmadd, 512-bit loads.
#include <immintrin.h>

#include "cpu/roof_kernels.h"

namespace tempo9::cpu::avx512 {
namespace {

constexpr int kChains = 16;  // two a cycle at a latency of 5 want 10

// Wraps; g++ writes its own reductions in signed integers, which may not.
template <typename T>
T sum_lanes(__m512i x) {
  T lanes[sizeof x / sizeof(T)], sum = 0;
  _mm512_storeu_si512(lanes, x);
  for (const T lane : lanes) sum += lane;
  return sum;
}

uint32_t int8_dots(uint32_t n_rounds, uint8_t w, int8_t x) {
  __m512i sum[kChains];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  __m512i weights = _mm512_set1_epi8(static_cast<char>(w));
  const __m512i activations = _mm512_set1_epi8(x);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+v"(weights));
      sum[i] = _mm512_dpbusd_epi32(sum[i], weights, activations);
    }
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  return sum_lanes<uint32_t>(sum[0]);
}

float f32_fmas(uint32_t n_rounds, float w, float x) {
  __m512 sum[kChains];
  for (__m512& s : sum) s = _mm512_setzero_ps();
  __m512 weights = _mm512_set1_ps(w);
  const __m512 activations = _mm512_set1_ps(x);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+v"(weights));
      sum[i] = _mm512_fmadd_ps(weights, activations, sum[i]);
    }
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  return _mm512_reduce_add_ps(sum[0]);
}

uint64_t read(const uint8_t* data, size_t n_bytes) {
  constexpr size_t kWidth = sizeof(__m512i);
  constexpr size_t kLoads = kReadStep / kWidth;
  __m512i sum[kLoads];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  for (const uint8_t* at = data; at < data + n_bytes; at += kReadStep) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kLoads; ++i) {
      sum[i] = _mm512_add_epi64(sum[i], _mm512_load_si512(at + i * kWidth));
    }
  }
  for (size_t i = 1; i < kLoads; ++i) sum[0] = _mm512_add_epi64(sum[0], sum[i]);
  return sum_lanes<uint64_t>(sum[0]);
}

}  // namespace

extern const RoofKernels kRoofs;
const RoofKernels kRoofs = {.name = "avx512",
                            .dots_per_round = kChains * 64,
                            .fmas_per_round = kChains * 16,
                            .int8_dots = int8_dots,
                            .f32_fmas = f32_fmas,
                            .read = read};

}  // namespace tempo9::cpu::avx512
