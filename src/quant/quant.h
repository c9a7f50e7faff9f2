// The scalar codec of every GGUF block format: what a block of bytes means, obviously right and not
// fast. One file per format (quant/<format>.h); fast paths live with their instruction set and are
// checked against these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace tempo9::quant {

// Decodes n_blocks consecutive blocks to f32; bit for bit what the gguf Python package's dequantize
// gives. Shapes: src [n_blocks * block_bytes], dst [n_blocks * block_elements].
using DecodeFn = void (*)(const uint8_t* src, float* dst, size_t n_blocks);

struct Format {
  DType type;
  DecodeFn decode;
};

// All formats that a weight may have (F32, F16 and BF16 included), in quant/list.inc's order.
std::span<const Format> formats();

// Null for types that hold no weights (integers, F64, Q8_K, types removed upstream).
const Format* find_format(DType type);

}  // namespace tempo9::quant
