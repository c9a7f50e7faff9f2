// For tests and fuzzers: a small SentencePiece vocabulary.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

// 0 <unk>, 1 <s>, 2 </s>, 3..258 bytes, then pieces; earlier ones score higher.
inline VocabData sentencepiece_vocab(std::vector<std::string> pieces) {
  VocabData vocab;
  vocab.model = "llama";
  vocab.tokens = {"<unk>", "<s>", "</s>"};
  vocab.types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kHex[] = "0123456789ABCDEF";
    vocab.tokens.push_back({'<', '0', 'x', kHex[byte / 16], kHex[byte % 16], '>'});
    vocab.types.push_back(6);
  }
  for (std::string& piece : pieces) {
    vocab.tokens.push_back(std::move(piece));
    vocab.types.push_back(1);
  }
  for (size_t i = 0; i < vocab.tokens.size(); ++i) vocab.scores.push_back(-static_cast<float>(i));
  vocab.unk = 0;
  vocab.bos = 1;
  vocab.eos = 2;
  vocab.add_bos = true;
  return vocab;
}

}  // namespace tempo9::tokenizer
