// Structured output: a schema or grammar, compiled against a vocabulary, says which tokens may come
// next. A thin door before XGrammar: none of its types leave this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/constraint.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

inline constexpr char kControlByte = '\xFF';

// What a grammar must know of a vocabulary.
struct Vocab {
  // The bytes each id stands for. Empty: never allowed. Control tokens are kControlByte and their
  // spelling: no text, since no character has that byte, but a rule may name them, "Token(7)".
  std::vector<std::string> tokens;
  std::vector<TokenId>
      end_tokens;  // allowed where the grammar can end; at least one, none of them text
};
Vocab vocab_of(const tokenizer::Tokenizer& tokenizer);

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

  // The same for text, all of it or nothing; one step for roll_back. Errors: kInternal.
  Result<bool> accept_text(std::string_view text);

  // Takes back the last n accepted tokens (rejected drafts). Requires: n <= tokens accepted.
  // Errors: kInternal.
  Status roll_back(int n_tokens);

  bool can_end() const;  // the text so far is complete
  bool ended() const;    // an end token was accepted

  std::string_view token_text(TokenId id) const;  // empty for control tokens
  // What the rules marked [capture] have matched so far, by name, in order of their ends.
  std::vector<std::pair<std::string, std::string>> captures() const;

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
  size_t n_bytes() const;  // about what it holds in memory; grows while it is used
  size_t n_tokens() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Texts longer than this are refused, since compiling takes memory and time in proportion.
inline constexpr size_t kMaxSourceBytes = size_t{8} << 20;

// Compiles grammars for one vocabulary. Masks are worked out when a place is first visited, so a
// large grammar costs what is used of it. Safe from any thread.
class Compiler {
 public:
  // Errors: kInvalidArgument for an empty vocabulary, or end tokens that are missing, out of range
  // or text.
  static Result<Compiler> make(Vocab vocab);
  Compiler(Compiler&&) noexcept;
  Compiler& operator=(Compiler&&) noexcept;
  ~Compiler();

  // Each: errors kInvalidArgument with what the text breaks, or where it is too long.
  Result<Grammar> ebnf(std::string_view rules);  // GBNF style, the start rule is `root`
  Result<Grammar> lark(std::string_view rules);  // the start rule is `start`

 private:
  struct Impl;
  explicit Compiler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo9::grammar
