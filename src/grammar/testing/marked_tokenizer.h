// For tests: bytes, the control tokens of script mode, and others.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

inline std::unique_ptr<tokenizer::Tokenizer> marked_tokenizer(
    std::initializer_list<const char*> marks) {
  tokenizer::VocabData vocab = tokenizer::make_byte_tokenizer()->vocab();
  for (const char* mark : marks) {
    vocab.tokens.emplace_back(mark);
    vocab.types.push_back(static_cast<int32_t>(tokenizer::TokenType::kControl));
  }
  return std::move(*tokenizer::make_tokenizer(std::move(vocab)));
}

inline std::vector<tokenizer::TokenId> encode(const tokenizer::Tokenizer& tokenizer,
                                              std::string_view text) {
  std::vector<tokenizer::TokenId> ids;
  tokenizer.encode(text, {.add_special = false, .parse_control = true}, &ids);
  return ids;
}

}  // namespace tempo9::grammar
