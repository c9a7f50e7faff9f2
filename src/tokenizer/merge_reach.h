// Where merges cannot reach: a border between two bytes that no token of the vocabulary has inside
// it stays a border whatever is merged, so a long piece may be cut there and its parts merged on
// their own. Languages without spaces make such pieces.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/hash.h"

namespace tempo9::tokenizer {

// Filled at load, then immutable. Says true where it does not know.
class MergeReach {
 public:
  // The bytes of every token that a merge may make.
  void add(std::string_view token) {
    if (token.size() < 2) return;
    set(&starts_, pair(token, 0));
    set(&ends_, pair(token, token.size() - 2));
    for (size_t i = 0; i + 2 < token.size(); ++i) set(&triples_, triple(token, i));
  }

  // Whether some token may lie across the border in front of text[i], 0 < i < text.size(). One
  // that does either begins right before it or holds two bytes before it; and the same behind.
  bool crosses(std::string_view text, size_t i) const {
    const bool before =
        has(starts_, pair(text, i - 1)) || (i >= 2 && has(triples_, triple(text, i - 2)));
    return before && (has(ends_, pair(text, i - 1)) ||
                      (i + 1 < text.size() && has(triples_, triple(text, i - 1))));
  }

 private:
  using Bits = std::vector<uint64_t>;
  static constexpr size_t kPairs = size_t{1} << 16, kTriples = size_t{1} << 21;

  static size_t pair(std::string_view s, size_t i) {
    return size_t{static_cast<unsigned char>(s[i])} << 8 | static_cast<unsigned char>(s[i + 1]);
  }
  static size_t triple(std::string_view s, size_t i) {
    const uint64_t key = pair(s, i) << 8 | static_cast<unsigned char>(s[i + 2]);
    return (mix(key) >> 20) & (kTriples - 1);
  }
  static void set(Bits* bits, size_t i) { (*bits)[i / 64] |= uint64_t{1} << (i % 64); }
  static bool has(const Bits& bits, size_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }

  Bits starts_ = Bits(kPairs / 64), ends_ = Bits(kPairs / 64), triples_ = Bits(kTriples / 64);
};

}  // namespace tempo9::tokenizer
