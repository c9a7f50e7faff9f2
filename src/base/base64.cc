#include "base/base64.h"

#include <cstdint>

namespace tempo9 {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    const size_t n_left = bytes.size() - i;
    text += kAlphabet[bits >> 18];
    text += kAlphabet[bits >> 12 & 63];
    text += n_left > 1 ? kAlphabet[bits >> 6 & 63] : '=';
    text += n_left > 2 ? kAlphabet[bits & 63] : '=';
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=' && text.size() % 4 != 1) {
    text.remove_suffix(1);
    if (text.size() % 4 == 2 || text.empty() || text.back() != '=') {
      break;
    }
  }
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
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
