// What all families share: the vocabulary, its index, the tokens matched by spelling, and the bytes
// of each token.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/hash.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

// Byte strings end to end in one block.
class Pieces {
 public:
  void add(std::string_view bytes) {
    block_.append(bytes);
    ends_.push_back(block_.size());
  }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(block_).substr(begin, ends_[i] - begin);
  }
  size_t size() const { return ends_.size(); }

 private:
  std::string block_;
  std::vector<size_t> ends_;
};

class VocabTokenizer : public Tokenizer {
 public:
  std::string_view token_bytes(TokenId id, bool spell_control) const override;
  std::string decode(std::span<const TokenId> ids, bool spell_control) const override;
  TokenType type(TokenId id) const override { return types_[static_cast<size_t>(id)]; }
  TokenId find(std::string_view spelling) const override {
    return index_.find(vocab_.tokens, spelling);
  }
  int32_t size() const override { return static_cast<int32_t>(vocab_.tokens.size()); }
  TokenId bos() const override { return vocab_.bos; }
  TokenId eos() const override { return vocab_.eos; }
  bool ends_generation(TokenId id) const override { return ends_[static_cast<size_t>(id)]; }
  const VocabData& vocab() const override { return vocab_; }

 protected:
  // Requires: check_vocab() passed.
  explicit VocabTokenizer(VocabData vocab);

  // Gives the bytes of the next token, in order of ids; a family's factory calls it for each token.
  void add_piece(std::string_view bytes) { pieces_.add(bytes); }
  const Pieces& pieces() const { return pieces_; }

  // Control tokens, and the unknown token, stand for no text: merges must not make them.
  bool is_control(TokenId id) const {
    return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown;
  }

  // Makes the tokens of types 3 and 4 known to the matcher; spelling(id) is what a text says for
  // one.
  template <typename Spelling>
  void add_specials(Spelling spelling) {
    std::vector<std::pair<std::string, TokenId>> found;
    size_t n_bytes = 0;
    for (TokenId id = 0; id < size(); ++id) {
      if (!is_control(id) && type(id) != TokenType::kUserDefined) continue;
      found.emplace_back(spelling(id), id);
      n_bytes += found.back().first.size();
    }
    specials_.reserve(n_bytes);
    for (const auto& [text, id] : found) specials_.add(text, id, is_control(id));
  }

  // Cuts text at the tokens matched by spelling; encode_text(raw) appends the ids of what lies
  // between to out.
  template <typename EncodeText>
  void encode_around_specials(std::string_view text, const EncodeOptions& options,
                              std::vector<TokenId>* out, EncodeText encode_text) const {
    if (options.add_special && vocab_.add_bos && vocab_.bos >= 0) out->push_back(vocab_.bos);
    size_t from = 0;
    while (from < text.size()) {
      const SpecialMatcher::Match match = specials_.find(text, from, options.parse_control);
      const size_t end = match.id == -1 ? text.size() : match.begin;
      if (end > from) encode_text(text.substr(from, end - from));
      if (match.id == -1) break;
      out->push_back(match.id);
      from = match.end;
    }
    if (options.add_special && vocab_.add_eos && vocab_.eos >= 0) out->push_back(vocab_.eos);
  }

 private:
  VocabData vocab_;
  std::vector<TokenType> types_;
  std::vector<bool> ends_;
  StringIndex index_;
  SpecialMatcher specials_;
  Pieces pieces_;
};

// The merges of the file as they are written, "left right". Errors: kCorrupt for one that is no
// pair of tokens, or whose result is no token. Merges that would make a control token are left out.
class MergeTable;
Status read_merges(const Tokenizer& tokenizer, MergeTable* table);

}  // namespace tempo9::tokenizer
