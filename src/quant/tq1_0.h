// TQ1_0: 256 ternary weights, five to a byte, w = d * (trit - 1).
// Layout: qs[48] | qh[4] | d f16. A byte is a fraction of 256 in base three: trit n is the whole
// part of 3 * frac(byte * 3^n / 256). qs[0-31] holds weights 0-159 (32 a trit), qs[32-47] 160-239
// (16 a trit), qh 240-255 (4 a trit).
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

T9_HOST_DEVICE T9_INLINE int trit(uint8_t byte, int n) {
  int fraction = byte;
  for (int k = 0; k < n; ++k) fraction = (fraction * 3) & 0xFF;
  return (fraction * 3) >> 8;
}

struct TQ1_0 {
  static constexpr DType kType = DType::kTQ1_0;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 54;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* qs = block;
    const uint8_t* qh = block + 48;
    const float d = load_f16(block + 52);
    for (int i = 0; i < 160; ++i) out[i] = d * static_cast<float>(trit(qs[i % 32], i / 32) - 1);
    for (int i = 0; i < 80; ++i) {
      out[160 + i] = d * static_cast<float>(trit(qs[32 + i % 16], i / 16) - 1);
    }
    for (int i = 0; i < 16; ++i) out[240 + i] = d * static_cast<float>(trit(qh[i % 4], i / 4) - 1);
  }
};

}  // namespace tempo9::quant
