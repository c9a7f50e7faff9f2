// How a byte-level vocabulary cuts a text into the pieces within which its merges work. One rule
// per tokenizer.ggml.pre, all in pre_list.inc. The rules are the regular expressions of the
// original tokenizers, written out by hand: each is one function over characters, linear in the
// text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tempo9::tokenizer {

// Appends the end of each piece, as offsets into text; together the pieces are the text. Any bytes
// may come.
using Splitter = void (*)(std::string_view text, std::vector<size_t>* ends);

enum PreFlags : unsigned {
  kPlain = 0,
  kNfc = 1,           // the original normalises to NFC first
  kIgnoreMerges = 2,  // a piece that is a vocabulary entry is taken at once
  kAddBos = 4,        // BOS goes in front where the file does not say
};

struct PreTokenizer {
  std::string_view name;  // tokenizer.ggml.pre
  Splitter split;
  unsigned flags;
};

// Null if there is none of that name.
const PreTokenizer* find_pre_tokenizer(std::string_view name);
// All names, in the order of pre_list.inc.
std::vector<std::string_view> pre_tokenizer_names();

}  // namespace tempo9::tokenizer
