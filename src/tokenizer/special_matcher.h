// Finds the tokens that are matched by their spelling before anything else looks at a text:
// user-defined ones always, control tokens where they are asked for. Leftmost first, then longest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/hash.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

// Filled at load, then immutable.
class SpecialMatcher {
 public:
  struct Match {
    size_t begin = 0, end = 0;  // bytes of the text
    TokenId id = -1;            // -1: no match
  };

  // n_bytes: of all spellings together, at least.
  void reserve(size_t n_bytes);
  // An empty spelling is never matched; of equal ones the first stays.
  void add(std::string_view spelling, TokenId id, bool control);

  // The first match at or after from.
  Match find(std::string_view text, size_t from, bool control_too) const;

 private:
  struct Node {
    TokenId id = -1;
    bool control = false;
  };
  static uint64_t edge(uint32_t node, unsigned char byte) {
    return static_cast<uint64_t>(node) << 8 | byte;
  }

  // A trie: node 0 is the root, edges by (node, byte).
  std::vector<Node> nodes_ = std::vector<Node>(1);
  IntegerMap<uint32_t> edges_;
  std::array<uint32_t, 256> first_ = {};  // node after the first byte; 0: none
};

}  // namespace tempo9::tokenizer
