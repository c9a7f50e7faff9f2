// Thinking, to rules: it runs free, what follows it keeps the rules, and it may be cut.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/constraint.h"

namespace tempo9::grammar {

// As a model's output format has them; ids are how the model would write each. Where a mark is a
// token of the vocabulary only that token counts, not its letters.
struct ThinkingMarks {
  struct Pair {
    std::vector<TokenId> open, close;
  };
  std::vector<Pair> pairs;
  bool anywhere = false;       // a reply may think again behind other text (Harmony's messages)
  bool starts_inside = false;  // the prompt has opened the block; any mark that closes ends it then
};

// What stands behind thinking, or in its place, is lead (ids; may be none) and keeps the rules.
std::shared_ptr<const Rules> after_thinking(std::shared_ptr<const Rules> rules, ThinkingMarks marks,
                                            std::vector<TokenId> lead,
                                            const tokenizer::Tokenizer* tokenizer);

// When n_tokens of thinking are written, its closing mark must follow. rules: of the reply, its
// thinking included; null: it is free.
std::shared_ptr<const Rules> with_thinking_budget(std::shared_ptr<const Rules> rules,
                                                  ThinkingMarks marks, uint32_t n_tokens,
                                                  const tokenizer::Tokenizer* tokenizer);

}  // namespace tempo9::grammar
