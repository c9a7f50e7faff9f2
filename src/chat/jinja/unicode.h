// Code points and their classes, as Python's str sees them. Tables in unicode.inc (generated). Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tempo9::chat::jinja {

// What isprintable, isalpha... of a one-character string say.
enum CharClass : uint16_t {
  kPrintable = 1 << 0,
  kAlpha = 1 << 1,
  kDecimal = 1 << 2,
  kDigit = 1 << 3,
  kNumeric = 1 << 4,
  kSpace = 1 << 5,
  kUpper = 1 << 6,
  kLower = 1 << 7,
  kTitle = 1 << 8,
  kIdentifierStart = 1 << 9,
  kIdentifier = 1 << 10,
};

uint16_t char_classes(char32_t c);
inline bool is_space(char32_t c) { return (char_classes(c) & kSpace) != 0; }

enum class Case { kUpper, kLower, kTitle, kFold };
void append_case(char32_t c, Case to, std::string* out);

void append_utf8(char32_t c, std::string* out);

// The code point at bytes[at], and how many bytes it takes. A byte that is not UTF-8 counts as one
// character, U+FFFD. Requires: at < bytes.size().
struct Decoded {
  char32_t c = 0;
  size_t n_bytes = 1;
};
Decoded decode_utf8(std::string_view bytes, size_t at);

size_t count_chars(std::string_view bytes);

}  // namespace tempo9::chat::jinja
