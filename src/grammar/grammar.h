// Structured output: a schema or grammar, compiled against a vocabulary, says which tokens may come
// next. A thin door before XGrammar: none of its types leave this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

using tokenizer::TokenId;

// What a grammar must know of a vocabulary.
struct Vocab {
  std::vector<std::string>
      tokens;  // the bytes each id stands for; empty: not text, never allowed (control tokens)
  std::vector<TokenId>
      end_tokens;  // allowed where the grammar can end; at least one, none of them text
};
Vocab vocab_of(const tokenizer::Tokenizer& tokenizer);

// Words of 32 bits that a mask over n_tokens takes. Bit (id % 32) of word (id / 32) is set when the
// id may come next.
constexpr size_t mask_words(size_t n_tokens) { return (n_tokens + 31) / 32; }

// One reply's place in a grammar.
// Threads: one at a time; matchers of one grammar are independent.
class Matcher {
 public:
  struct Impl;
  explicit Matcher(std::unique_ptr<Impl> impl);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  // Writes which tokens may come next; every bit past the vocabulary is 0, and all bits are once
  // ended(). Requires: mask.size() == mask_words(vocabulary size).   Errors: kInternal.
  Status fill_mask(std::span<uint32_t> mask);

  // Moves over a token and says true, or stays and says false when it is not allowed here. An end
  // token ends the reply. Errors: kInternal.
  Result<bool> accept(TokenId id);

  // Takes back the last n accepted tokens (rejected drafts). Requires: n <= tokens accepted.
  // Errors: kInternal.
  Status roll_back(int n_tokens);

  bool can_end() const;  // the text so far is complete
  bool ended() const;    // an end token was accepted

 private:
  std::unique_ptr<Impl> impl_;
};

// A compiled grammar. Immutable, cheap to copy, safe from any thread; it keeps what it needs of the
// vocabulary alive.
class Grammar {
 public:
  struct Impl;
  explicit Grammar(std::shared_ptr<const Impl> impl);

  // A matcher at the start.   Errors: kInternal.
  Result<Matcher> start() const;
  size_t n_bytes() const;  // about what it holds in memory

 private:
  std::shared_ptr<const Impl> impl_;
};

struct CompilerOptions {
  int n_threads = 1;                      // that one compilation may use
  size_t cache_bytes = size_t{64} << 20;  // of compiled grammars that are kept for the same text
};

// Texts longer than this are refused, since compiling takes memory and time in proportion.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;

// Compiles grammars for one vocabulary. Safe from any thread.
class Compiler {
 public:
  // Errors: kInvalidArgument for an empty vocabulary, or end tokens that are missing, out of range
  // or text.
  static Result<Compiler> make(Vocab vocab, const CompilerOptions& options);
  Compiler(Compiler&&) noexcept;
  Compiler& operator=(Compiler&&) noexcept;
  ~Compiler();

  // Each: errors kInvalidArgument with what the text breaks, or where it is too long.
  Result<Grammar> json_schema(std::string_view schema);  // any JSON whitespace between tokens
  Result<Grammar> ebnf(std::string_view rules);          // GBNF style, the start rule is `root`
  Result<Grammar> regex(std::string_view pattern);       // the whole reply matches

 private:
  struct Impl;
  explicit Compiler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo9::grammar
