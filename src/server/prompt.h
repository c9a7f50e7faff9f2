// Prompts to token ids: template segments may hold control tokens, text from outside never does.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::server {

using tokenizer::TokenId;

// The spellings of a vocabulary's control tokens, ready to be found in text. Immutable; any thread.
class ControlTokens {
 public:
  explicit ControlTokens(const tokenizer::Tokenizer& tokenizer);

  // The longest control token that text starts with; empty: none. Sets *id.
  std::string_view match(std::string_view text, TokenId* id) const;

 private:
  struct Entry {
    std::string spelling;
    TokenId id;
  };
  std::array<std::vector<Entry>, 256> by_first_byte_;  // longest first
};

// The ids that the original tokenizer gives for the joined text, had outside text no control tokens
// in it: what stands between two control tokens of the template is encoded as one text, across the
// segments' borders.
std::vector<TokenId> encode_segments(const tokenizer::Tokenizer& tokenizer,
                                     const ControlTokens& control,
                                     const std::vector<chat::Segment>& segments);

}  // namespace tempo9::server
