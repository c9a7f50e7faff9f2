// What a reply must look like, as the engine sees it: which tokens may come next. Implementations
// are in this room; the engine knows no grammar, and a grammar knows no request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

using tokenizer::TokenId;

// Words of 32 bits that a mask over n_tokens takes. Bit (id % 32) of word (id / 32) is set when the
// id may come next.
constexpr size_t mask_words(size_t n_tokens) { return (n_tokens + 31) / 32; }

// One reply's place. Deterministic: the same tokens give the same masks and answers.
// Threads: one call at a time.
class Constraint {
 public:
  virtual ~Constraint() = default;

  // Writes what may come next and says true, or says false: anything may, mask is untouched.
  // Requires: mask.size() == mask_words(n_tokens of the rules).   Errors: kInternal.
  virtual Result<bool> fill_mask(std::span<uint32_t> mask) = 0;

  // Moves over a token and says true, or stays and says false: it may not come here, draw another.
  // Some rules hold values, not letters (two equal items, a number's multiple), so false is
  // possible for a token that the mask allows.   Errors: kInternal.
  virtual Result<bool> accept(TokenId id) = 0;
  // The same for text whose tokens do not matter (scripts).
  virtual Result<bool> accept_text(std::string_view text) = 0;

  // What must come next whatever a script says, as it spells it; empty: nothing. A model is made to
  // write it by its mask.
  virtual std::string forced_text() const { return {}; }

  virtual bool can_end() const = 0;  // the reply is complete, or may end anywhere
  virtual bool ended() const = 0;    // an end token was accepted
};

// What a request brings: immutable, any thread, shared by its choices.
class Rules {
 public:
  virtual ~Rules() = default;
  virtual Result<std::unique_ptr<Constraint>> start() const = 0;  // Errors: kInternal.
  virtual size_t n_tokens() const = 0;  // of the vocabulary that masks are over
};

}  // namespace tempo9::grammar
