// Remembers, within one encode call, where in the output the ids of a word stand that was met
// before.
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/hash.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

// Requires: words are views into memory that lives until clear(), and out only grows.
class WordCache {
 public:
  static constexpr size_t kMaxBytes = 40;

  // Appends the ids of word to out and returns true if it is known; else false, and remember() is
  // to follow.
  bool append(std::string_view word, std::vector<TokenId>* out) {
    if (slots_.empty()) slots_.resize(kSlots);
    slot_ = &slots_[hash_bytes(word) & (kSlots - 1)];
    if (slot_->word != word || slot_->word.empty()) return false;
    for (size_t i = 0; i < slot_->n; ++i) out->push_back((*out)[slot_->first + i]);
    return true;
  }
  // The ids of the word last asked for are out[first, end).
  void remember(std::string_view word, size_t first, const std::vector<TokenId>& out) {
    *slot_ = {word, first, out.size() - first};
  }
  void clear() { slots_.clear(); }

 private:
  static constexpr size_t kSlots = 4096;
  struct Slot {
    std::string_view word;
    size_t first = 0, n = 0;
  };
  std::vector<Slot> slots_;
  Slot* slot_ = nullptr;
};

}  // namespace tempo9::tokenizer
