// For tests: the tokens of a text.
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

inline std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text,
                                   EncodeOptions options = {}) {
  std::vector<TokenId> ids;
  tokenizer.encode(text, options, &ids);
  return ids;
}

}  // namespace tempo9::tokenizer
