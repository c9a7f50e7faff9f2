#include <array>

#include "quant/quant.h"

#define T9_QUANT(Codec)
#include "quant/list.inc"
#undef T9_QUANT

namespace tempo9::quant {
namespace {

template <typename Codec>
void decode_blocks(const uint8_t* src, float* dst, size_t n_blocks) {
  for (size_t b = 0; b < n_blocks; ++b) {
    Codec::decode(src + b * Codec::kBlockBytes, dst + b * Codec::kBlockElements);
  }
}

constexpr std::array kFormats = {
#define T9_QUANT(Codec) Format{Codec::kType, decode_blocks<Codec>},
#include "quant/list.inc"
#undef T9_QUANT
};

// The codecs and the table of types must agree on sizes.
constexpr bool sizes_agree(DType type, uint32_t elements, uint32_t bytes) {
  switch (type) {
#define T9_DTYPE(id, enumerator, name, block_elements, block_bytes) \
  case DType::enumerator:                                           \
    return elements == block_elements && bytes == block_bytes;
#include "tensor/dtype.inc"
#undef T9_DTYPE
  }
  return false;
}
#define T9_QUANT(Codec) \
  static_assert(sizes_agree(Codec::kType, Codec::kBlockElements, Codec::kBlockBytes));
#include "quant/list.inc"
#undef T9_QUANT

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(DType type) {
  for (const Format& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

}  // namespace tempo9::quant
