// Marks of thinking in a reply: what a model's tokens and a script's letters have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/thinking.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

// What a token says. Tokens that stand for something (control, user-defined) have a byte in front
// that no text has, so that their letters alone are something else.
std::string marked_text(const tokenizer::Tokenizer& tokenizer, TokenId id);

// The spellings of marks: of a model's tokens, or of a script, where all counts by its letters.
struct SpelledPair {
  std::string open, close;
};
std::vector<SpelledPair> spelled(const ThinkingMarks& marks, const tokenizer::Tokenizer& tokenizer,
                                 bool is_script);
std::string plain_text(std::span<const TokenId> ids, const tokenizer::Tokenizer& tokenizer);

// Which pair's closing mark comes first in text, and where it ends. opened_by: only this pair.
struct Closed {
  size_t pair, end;
};
std::optional<Closed> find_close(const std::vector<SpelledPair>& pairs,
                                 std::optional<size_t> opened_by, std::string_view text);
// The pair whose opening mark begins text; maybe: none yet, but some may.
std::optional<size_t> find_open(const std::vector<SpelledPair>& pairs, std::string_view text,
                                bool* maybe);
// Keeps as much of the end as may become a mark.
void trim(const std::vector<SpelledPair>& pairs, std::string* text);

// The tokens that a mask allows, one by one.
inline void allow(std::span<uint32_t> mask, TokenId id) {
  mask[static_cast<size_t>(id) / 32] |= 1U << (static_cast<uint32_t>(id) % 32);
}

std::string_view without_blank(std::string_view text);  // at its start

}  // namespace tempo9::grammar
