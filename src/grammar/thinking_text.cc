#include "grammar/thinking_text.h"

#include <algorithm>

#include "grammar/grammar.h"

namespace tempo9::grammar {

std::string marked_text(const tokenizer::Tokenizer& tokenizer, TokenId id) {
  const tokenizer::TokenType type = tokenizer.type(id);
  const bool stands_for_something =
      type == tokenizer::TokenType::kControl || type == tokenizer::TokenType::kUserDefined;
  std::string text;
  if (stands_for_something) text += kControlByte;
  text += tokenizer.token_bytes(id, /*spell_control=*/true);
  return text;
}

std::string plain_text(std::span<const TokenId> ids, const tokenizer::Tokenizer& tokenizer) {
  std::string text;
  for (const TokenId id : ids) text += tokenizer.token_bytes(id, /*spell_control=*/true);
  return text;
}

std::vector<SpelledPair> spelled(const ThinkingMarks& marks, const tokenizer::Tokenizer& tokenizer,
                                 bool is_script) {
  const auto spell = [&](std::span<const TokenId> ids) {
    if (is_script) return plain_text(ids, tokenizer);
    std::string text;
    for (const TokenId id : ids) text += marked_text(tokenizer, id);
    return text;
  };
  std::vector<SpelledPair> out;
  for (const auto& pair : marks.pairs) out.push_back({spell(pair.open), spell(pair.close)});
  return out;
}

std::string_view without_blank(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

std::optional<Closed> find_close(const std::vector<SpelledPair>& pairs,
                                 std::optional<size_t> opened_by, std::string_view text) {
  std::optional<Closed> first;
  size_t first_at = std::string_view::npos;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (opened_by && *opened_by != i) continue;
    const size_t at = text.find(pairs[i].close);
    if (at >= first_at) continue;
    first_at = at;
    first = {i, at + pairs[i].close.size()};
  }
  return first;
}

void trim(const std::vector<SpelledPair>& pairs, std::string* text) {
  size_t keep = 0;
  for (const SpelledPair& pair : pairs)
    keep = std::max({keep, pair.open.size(), pair.close.size()});
  if (text->size() > keep) text->erase(0, text->size() - keep);
}

std::optional<size_t> find_open(const std::vector<SpelledPair>& pairs, std::string_view text,
                                bool* maybe) {
  *maybe = text.empty();
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (text.starts_with(pairs[i].open)) return i;
    *maybe |= std::string_view(pairs[i].open).starts_with(text);
  }
  return std::nullopt;
}

}  // namespace tempo9::grammar
