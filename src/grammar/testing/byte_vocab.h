// For tests: a vocabulary of single bytes, and whole texts against a grammar.
#pragma once

#include <string>
#include <string_view>

#include "grammar/grammar.h"

namespace tempo9::grammar {

// Token b is byte b; 256 ends a reply.
inline Vocab byte_vocab() {
  Vocab vocab;
  for (int byte = 0; byte < 256; ++byte) vocab.tokens.emplace_back(1, static_cast<char>(byte));
  vocab.tokens.emplace_back();
  vocab.end_tokens = {256};
  return vocab;
}

inline bool accepts(const Grammar& grammar, std::string_view text) {
  auto matcher = grammar.start();
  return matcher && matcher->accept_text(text).value_or(false) && matcher->can_end();
}

}  // namespace tempo9::grammar
