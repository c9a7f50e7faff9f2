// Code points, their classes and NFC, as the pre-tokenizers' rules need them.
// Tables: tools/gen/unicode_tables.py, which says which Unicode versions and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tokenizer/unicode_tables.h"

namespace tempo9::tokenizer {

// A set of classes; a code point is in one of kUpper..kSymbol at most, and may be kWhite besides.
using ClassMask = uint32_t;
inline constexpr ClassMask kUpper = 1;          // \p{Lu}
inline constexpr ClassMask kLower = 2;          // \p{Ll}
inline constexpr ClassMask kTitle = 4;          // \p{Lt}
inline constexpr ClassMask kModifier = 8;       // \p{Lm}
inline constexpr ClassMask kOtherLetter = 16;   // \p{Lo}
inline constexpr ClassMask kLetter = 31;        // \p{L}
inline constexpr ClassMask kMark = 32;          // \p{M}
inline constexpr ClassMask kNumber = 64;        // \p{N}
inline constexpr ClassMask kPunctuation = 128;  // \p{P}
inline constexpr ClassMask kSymbol = 256;       // \p{S}
inline constexpr ClassMask kWhite = 512;        // \s
inline constexpr ClassMask kNotNfcSafe =
    1024;  // a text with such a code point may not be its own NFC

inline constexpr char32_t kInvalid = 0xFFFFFFFF;

// One character of a text that need not be valid UTF-8: a byte that starts no valid sequence is a
// character of its own, with code kInvalid and no class.
struct Character {
  char32_t code;
  uint32_t n_bytes;
  ClassMask classes;
};

T9_INLINE ClassMask classes_of(char32_t code) {
  if (code >= 0x110000) return 0;
  const uint32_t block = tables::kClassIndex[code / tables::kClassBlockSize];
  return tables::kClassMasks[tables::kClassBlocks[block * tables::kClassBlockSize +
                                                  code % tables::kClassBlockSize]];
}

// Requires: p < end. Surrogates, overlong forms and codes above 10FFFF are invalid.
Character decode_multibyte(const char* p, const char* end);
T9_INLINE Character decode(const char* p, const char* end) {
  const auto byte = static_cast<unsigned char>(*p);
  if (byte < 0x80) return {byte, 1, tables::kClassMasks[tables::kClassBlocks[byte]]};
  return decode_multibyte(p, end);
}

// Appends the UTF-8 of code. Requires: a valid code point.
void append_utf8(char32_t code, std::string* out);

// The NFC of text, as Hugging Face's normalizer makes it. False: text is its own NFC, and out is
// left alone. Invalid bytes stay as they are and combine with nothing.
bool to_nfc(std::string_view text, std::string* out);

}  // namespace tempo9::tokenizer
