#include "tokenizer/vocab_tokenizer.h"

#include "tokenizer/end_of_generation.h"
#include "tokenizer/merges.h"

namespace tempo9::tokenizer {
namespace {

TokenType checked_type(int32_t value) {
  const bool known = value >= static_cast<int32_t>(TokenType::kNormal) &&
                     value <= static_cast<int32_t>(TokenType::kByte);
  return known ? static_cast<TokenType>(value) : TokenType::kNormal;
}

}  // namespace

VocabTokenizer::VocabTokenizer(VocabData vocab)
    : vocab_(std::move(vocab)), ends_(find_end_tokens(vocab_)) {
  const size_t n = vocab_.tokens.size();
  types_.assign(n, TokenType::kNormal);
  for (size_t i = 0; i < vocab_.types.size(); ++i) types_[i] = checked_type(vocab_.types[i]);
  index_.reserve(n);
  for (size_t i = 0; i < n; ++i) index_.insert(vocab_.tokens, static_cast<int32_t>(i));
}

std::string_view VocabTokenizer::token_bytes(TokenId id, bool spell_control) const {
  if (is_control(id))
    return spell_control ? std::string_view(vocab_.tokens[static_cast<size_t>(id)]) : "";
  return pieces_[static_cast<size_t>(id)];
}

std::string VocabTokenizer::decode(std::span<const TokenId> ids, bool spell_control) const {
  std::string text;
  for (const TokenId id : ids) text += token_bytes(id, spell_control);
  return text;
}

Status read_merges(const Tokenizer& tokenizer, MergeTable* table) {
  const VocabData& vocab = tokenizer.vocab();
  if (vocab.merges.size() > UINT32_MAX - 1) {
    return make_error(ErrorCode::kCorrupt,
                      "tokenizer.ggml.merges has {} entries, expected fewer than 2^32",
                      vocab.merges.size());
  }
  table->reserve(vocab.merges.size());
  std::string joined;
  for (size_t rank = 0; rank < vocab.merges.size(); ++rank) {
    const std::string_view merge = vocab.merges[rank];
    // A token may hold a space itself, so the cut is the first space that leaves two tokens.
    TokenId left = -1, right = -1, merged = -1;
    for (size_t space = merge.find(' ', 1); space != std::string_view::npos;
         space = merge.find(' ', space + 1)) {
      left = tokenizer.find(merge.substr(0, space));
      right = tokenizer.find(merge.substr(space + 1));
      joined.assign(merge.substr(0, space)).append(merge.substr(space + 1));
      merged = tokenizer.find(joined);
      if (left >= 0 && right >= 0 && merged >= 0) break;
      left = right = merged = -1;
    }
    if (merged < 0) {
      return make_error(ErrorCode::kCorrupt,
                        "tokenizer.ggml.merges[{}] is '{}', expected two tokens of the file with a "
                        "space between them, "
                        "whose joining is a token too",
                        rank, merge);
    }
    const TokenType type = tokenizer.type(merged);
    if (type == TokenType::kControl || type == TokenType::kUnknown) continue;
    table->add(left, right, {static_cast<uint32_t>(rank), merged});
  }
  return {};
}

}  // namespace tempo9::tokenizer
