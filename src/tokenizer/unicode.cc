#include "tokenizer/unicode.h"

namespace tempo9::tokenizer {
namespace {

constexpr Character kInvalidByte = {kInvalid, 1, 0};

bool continues(const char* p) { return (static_cast<unsigned char>(*p) & 0xC0) == 0x80; }
char32_t low_bits(const char* p, unsigned mask) { return static_cast<unsigned char>(*p) & mask; }

}  // namespace

Character decode_multibyte(const char* p, const char* end) {
  const auto byte = static_cast<unsigned char>(*p);
  const auto left = end - p;
  if (byte >= 0xC2 && byte < 0xE0) {
    if (left < 2 || !continues(p + 1)) return kInvalidByte;
    const char32_t code = low_bits(p, 0x1F) << 6 | low_bits(p + 1, 0x3F);
    return {code, 2, classes_of(code)};
  }
  if (byte >= 0xE0 && byte < 0xF0) {
    if (left < 3 || !continues(p + 1) || !continues(p + 2)) return kInvalidByte;
    const char32_t code =
        low_bits(p, 0x0F) << 12 | low_bits(p + 1, 0x3F) << 6 | low_bits(p + 2, 0x3F);
    if (code < 0x800 || (code >= 0xD800 && code < 0xE000)) return kInvalidByte;
    return {code, 3, classes_of(code)};
  }
  if (byte >= 0xF0 && byte < 0xF5) {
    if (left < 4 || !continues(p + 1) || !continues(p + 2) || !continues(p + 3))
      return kInvalidByte;
    const char32_t code = low_bits(p, 0x07) << 18 | low_bits(p + 1, 0x3F) << 12 |
                          low_bits(p + 2, 0x3F) << 6 | low_bits(p + 3, 0x3F);
    if (code < 0x10000 || code >= 0x110000) return kInvalidByte;
    return {code, 4, classes_of(code)};
  }
  return kInvalidByte;
}

void append_utf8(char32_t code, std::string* out) {
  const auto byte = [&](char32_t value) { out->push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

}  // namespace tempo9::tokenizer
