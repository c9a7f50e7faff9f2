// The generated tables' shapes; use unicode.h.
#pragma once

#include <cstdint>

namespace tempo9::tokenizer::tables {

struct CombiningClass {
  char32_t code;
  uint8_t value;  // canonical combining class, not 0
};
struct Decomposition {
  char32_t code;
  uint16_t first;  // in kExpansions
  uint8_t n;
};
struct Composition {
  char32_t first, second, composed;
};

// Class of code point c: kClassMasks[kClassBlocks[kClassIndex[c / size] * size + c % size]]. Block
// 0 is ASCII.
inline constexpr uint32_t kClassBlockSize = 128;
#include "tokenizer/unicode_class.inc"  // NOLINT

}  // namespace tempo9::tokenizer::tables
