// IQ4_XS: 256 weights in 8 groups of 32, levels as in IQ4_NL, w = (d * (scale - 32)) * level.
// Layout: d f16 | scales_h u16: upper two bits of the eight scales | scales_l[4]: their low nibbles
// | qs[128], 16 bytes a group: low nibbles are its weights 0-15, high nibbles 16-31.
#pragma once

#include "quant/half.h"
#include "quant/iq4_nl.h"
#include "tensor/dtype.h"

namespace tempo9::quant {

struct IQ4_XS {
  static constexpr DType kType = DType::kIQ4_XS;
  static constexpr int kBlockElements = 256;
  static constexpr int kBlockBytes = 136;

  T9_HOST_DEVICE T9_INLINE static void decode(const uint8_t* block, float* out) {
    const float d = load_f16(block);
    const uint8_t* scales_h = block + 2;
    const uint8_t* scales_l = block + 4;
    const uint8_t* qs = block + 8;
    for (int i = 0; i < kBlockElements; ++i) {
      const int group = i / 32;
      const int scale = bits_of(scales_l[group / 2], 4 * (group % 2), 4) |
                        (bits_of(scales_h[group / 4], 2 * (group % 4), 2) << 4);
      const int code = bits_of(qs[16 * group + i % 16], 4 * ((i / 16) % 2), 4);
      out[i] = (d * static_cast<float>(scale - 32)) * static_cast<float>(iq4_level(code));
    }
  }
};

}  // namespace tempo9::quant
