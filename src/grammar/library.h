// A model's compiled grammars: made on a thread of their own, within a time limit, and kept.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::grammar {

struct LibraryOptions {
  size_t cache_bytes = size_t{128} << 20;  // of grammars that are kept, about
  std::chrono::milliseconds time_limit{10'000};
};

// Safe from any thread. The vocabulary is taken in with the first grammar.
class Library {
 public:
  enum class Syntax { kEbnf, kLark };

  // tokenizer must outlive the first compile().
  explicit Library(const tokenizer::Tokenizer* tokenizer, const LibraryOptions& options = {});
  ~Library();  // waits for the grammar that is being compiled

  // Waits for the result. Errors: as Compiler's; kInvalidArgument when it takes too long, which
  // bounds the wait and not the work: until that one is done, others wait for it likewise.
  Result<Grammar> compile(std::string source, Syntax syntax = Syntax::kEbnf);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo9::grammar
