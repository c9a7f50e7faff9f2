// Why a prompt was not found in the cache: where it parts from what was asked before, and what the
// likely cause is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kv/cache.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

struct CacheReport {
  uint64_t request = 0;
  uint32_t prompt_tokens = 0;
  kv::CachedTokens cached;
  // The prompt before it that begins alike for the most tokens: how many. 0: none does.
  uint32_t alike_tokens = 0;
  // Where the two part; not set when one is the beginning of the other.
  struct Difference {
    std::string before;    // text in front of it, which both have
    std::string was, now;  // from the first differing token on
    std::string place;     // "system", "user"...: the message it stands in; empty: not known
  };
  std::optional<Difference> difference;
  std::string cause;  // in words; empty: nothing was lost
};

// The last few conversations, prompt and reply, to hold new ones against. Threads: the engine's.
class CacheReporter {
 public:
  // has_states: of a model with recurrent layers, which goes on from kept states only.
  explicit CacheReporter(const tokenizer::Tokenizer* tokenizer, bool has_states = false)
      : tokenizer_(tokenizer), has_states_(has_states) {}

  CacheReport report(std::span<const tokenizer::TokenId> prompt,
                     const kv::CachedTokens& cached) const;
  void remember(std::vector<tokenizer::TokenId> tokens);

 private:
  std::string text(std::span<const tokenizer::TokenId> tokens) const;
  std::string place_of(std::span<const tokenizer::TokenId> tokens, size_t position) const;

  const tokenizer::Tokenizer* tokenizer_;
  bool has_states_;
  std::deque<std::vector<tokenizer::TokenId>> known_;  // oldest first
};

// What kind of thing changed, from the text around it: "a time stamp", "a date"... For tests.
std::string cause_of(const CacheReport::Difference& difference);

}  // namespace tempo9::engine
