// Roofs in 256 bits: vpmaddubsw + vpmaddwd + vpaddd, or vpdpbusd where there is T9_VNNI_ENCODING;
// vfmadd; 256-bit loads. Included inside a table's namespace.

namespace {

// Of 16 registers; two a cycle at a latency of 4 want 8. The dots' chains are one addition each.
constexpr int kChains = 12;

uint32_t int8_dots(uint32_t n_rounds, uint8_t w, int8_t x) {
  __m256i sum[kChains];
  for (__m256i& s : sum) s = _mm256_setzero_si256();
  __m256i weights = _mm256_set1_epi8(static_cast<char>(w));
  const __m256i activations = _mm256_set1_epi8(x);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+x"(weights));
#ifdef T9_VNNI_ENCODING
      asm(T9_VNNI_ENCODING " vpdpbusd %2, %1, %0" : "+x"(sum[i]) : "x"(weights), "x"(activations));
#else
      const __m256i pairs = _mm256_maddubs_epi16(weights, activations);
      sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
    }
  }
  alignas(32) uint32_t lanes[8];
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum[0]);
  uint32_t total = 0;
  for (const uint32_t lane : lanes) total += lane;
  return total;
}

float f32_fmas(uint32_t n_rounds, float w, float x) {
  __m256 sum[kChains];
  for (__m256& s : sum) s = _mm256_setzero_ps();
  __m256 weights = _mm256_set1_ps(w);
  const __m256 activations = _mm256_set1_ps(x);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+x"(weights));
      sum[i] = _mm256_fmadd_ps(weights, activations, sum[i]);
    }
  }
  alignas(32) float lanes[8];
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_ps(sum[0], sum[i]);
  _mm256_store_ps(lanes, sum[0]);
  float total = 0.0f;
  for (const float lane : lanes) total += lane;
  return total;
}

uint64_t read(const uint8_t* data, size_t n_bytes) {
  constexpr size_t kWidth = sizeof(__m256i);
  constexpr size_t kSums = 8;
  __m256i sum[kSums];
  for (__m256i& s : sum) s = _mm256_setzero_si256();
  for (const uint8_t* at = data; at < data + n_bytes; at += kSums * kWidth) {
#pragma GCC unroll 8
    for (size_t i = 0; i < kSums; ++i) {
      const auto* words = reinterpret_cast<const __m256i*>(at + i * kWidth);
      sum[i] = _mm256_add_epi64(sum[i], _mm256_load_si256(words));
    }
  }
  alignas(32) uint64_t lanes[4];
  for (size_t i = 1; i < kSums; ++i) sum[0] = _mm256_add_epi64(sum[0], sum[i]);
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum[0]);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

}  // namespace

extern const RoofKernels kRoofs;
const RoofKernels kRoofs = {.name = T9_ISA_NAME,
                            .dots_per_round = kChains * 32,
                            .fmas_per_round = kChains * 8,
                            .int8_dots = int8_dots,
                            .f32_fmas = f32_fmas,
                            .read = read};
