// Prompts to token ids: template segments may hold control tokens, text from outside never does.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
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

// Texts and their ids, so that a conversation which comes again with one more turn is not made
// tokens anew: between two control tokens of its template a text is a unit of its own. The texts
// seen last are kept, up to a number of bytes. Any thread.
class EncodedTexts {
 public:
  explicit EncodedTexts(size_t max_bytes = 64 << 20) : max_bytes_(max_bytes) {}

  // Appends the ids of a text without control tokens.
  void encode(const tokenizer::Tokenizer& tokenizer, std::string_view text,
              std::vector<TokenId>* ids);
  size_t n_bytes() const;
  size_t n_found() const;  // texts that were there

 private:
  struct Entry {
    std::string text;
    std::vector<TokenId> ids;
    size_t n_bytes() const { return text.size() + ids.size() * sizeof(TokenId) + kOverhead; }
  };
  static constexpr size_t kOverhead = 200;  // of list and map

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // that seen last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_text_;
  size_t n_bytes_ = 0, n_found_ = 0;
};

// The ids that the original tokenizer gives for the joined text, had outside text no control tokens
// in it: what stands between two control tokens of the template is encoded as one text, across the
// segments' borders.
std::vector<TokenId> encode_segments(const tokenizer::Tokenizer& tokenizer,
                                     const ControlTokens& control,
                                     const std::vector<chat::Segment>& segments,
                                     EncodedTexts* known = nullptr);

}  // namespace tempo9::server
