// The factories that list.inc names. Requires: check_vocab() passed.
#pragma once

#include <memory>

#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

#define T9_TOKENIZER(model, factory) Result<std::unique_ptr<Tokenizer>> factory(VocabData vocab);
#include "tokenizer/list.inc"  // NOLINT
#undef T9_TOKENIZER

// kCorrupt if the lists do not fit together or an id is out of range.
Status check_vocab(const VocabData& vocab);

}  // namespace tempo9::tokenizer
