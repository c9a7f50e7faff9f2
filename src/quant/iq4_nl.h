// IQ4_NL: 32 weights, four bits each that choose one of 16 uneven levels, w = d * level.
// Layout: d f16 | qs[16]: low nibbles are weights 0-15, high nibbles 16-31.
#pragma once

#include "quant/half.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

T9_HOST_DEVICE T9_INLINE int iq4_level(int code) {
  static constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
  return kLevels[code];
}

struct IQ4_NL {
  static constexpr DType kType = DType::kIQ4_NL;
  static constexpr int kBlockElements = 32;
  static constexpr int kBlockBytes = 18;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* qs = block + 2;
    for (int i = 0; i < kBlockElements; ++i) {
      out[i] = d * static_cast<float>(iq4_level(bits_of(qs[i % 16], 4 * (i / 16), 4)));
    }
  }
};

}  // namespace tempo9::quant
