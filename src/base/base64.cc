#include "base/base64.h"

#include <cstdint>

namespace tempo9 {
namespace {

std::string_view alphabet(Base64 kind) {
  return kind == Base64::kUrl ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                              : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

// Without "=" where that fills up a group of four.
std::string_view without_padding(std::string_view text) {
  while (!text.empty() && text.back() == '=' && text.size() % 4 != 1) {
    text.remove_suffix(1);
    if (text.size() % 4 == 2 || text.empty() || text.back() != '=') {
      break;
    }
  }
  return text;
}

}  // namespace

std::string encode_base64(std::string_view bytes, Base64 kind) {
  const std::string_view letters = alphabet(kind);
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    const size_t n_left = bytes.size() - i;
    text += letters[bits >> 18];
    text += letters[bits >> 12 & 63];
    if (n_left > 1) text += letters[bits >> 6 & 63];
    if (n_left > 2) text += letters[bits & 63];
  }
  if (kind == Base64::kPadded) text.resize((text.size() + 3) / 4 * 4, '=');
  return text;
}

std::optional<std::string> decode_base64(std::string_view text, Base64 kind) {
  if (kind == Base64::kPadded) text = without_padding(text);
  const std::string_view letters = alphabet(kind);
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const size_t value = letters.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xffffffu;
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      bytes.push_back(static_cast<char>(bits >> n_bits & 0xffu));
    }
  }
  const bool is_whole = n_bits < 6 && (bits & ((1u << n_bits) - 1)) == 0;
  return is_whole ? std::optional(bytes) : std::nullopt;
}

}  // namespace tempo9
