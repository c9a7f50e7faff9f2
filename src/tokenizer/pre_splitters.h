// The splitting functions that pre_list.inc names; see pre_tokenizer.h for what a splitter owes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tempo9::tokenizer {

// "'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", used as a last
// stage by others too.
const char* match_gpt2(const char* p, const char* end);

#define T9_PRE(name, split, flags) void split(std::string_view text, std::vector<size_t>* ends);
#include "tokenizer/pre_list.inc"  // NOLINT
#undef T9_PRE

}  // namespace tempo9::tokenizer
