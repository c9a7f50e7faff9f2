// For tests: prompts.
#pragma once

#include <numeric>
#include <vector>

#include "kv/cache.h"

namespace tempo9::kv::testing {

using Tokens = std::vector<TokenId>;

// n tokens that count up from the first.
inline Tokens iota(size_t n, TokenId first = 0) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

}  // namespace tempo9::kv::testing
