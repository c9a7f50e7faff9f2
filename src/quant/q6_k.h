// Q6_K: 256 weights of six bits in 16 groups of 16, w = (d * scale) * (q - 32).
// Layout: ql[128]: weight i's low four bits are in byte 64 * (i / 128) + i % 64, nibble (i / 64) %
// 2 | qh[64]: its upper two in byte 32 * (i / 128) + i % 32, pair (i / 32) % 4 | scales[16] int8 |
// d f16.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct Q6_K {
  static constexpr DType kType = DType::kQ6_K;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 210;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const uint8_t* ql = block;
    const uint8_t* qh = block + 128;
    const uint8_t* scales = block + 192;
    const float d = load_f16(block + 208);
    for (int i = 0; i < kBlockElements; ++i) {
      const float scale = d * static_cast<float>(static_cast<int8_t>(scales[i / 16]));
      const int q = bits_of(ql[64 * (i / 128) + i % 64], 4 * ((i / 64) % 2), 4) |
                    (bits_of(qh[32 * (i / 128) + i % 32], 2 * ((i / 32) % 4), 2) << 4);
      out[i] = scale * static_cast<float>(q - 32);
    }
  }
};

}  // namespace tempo9::quant
