// Texts that stand as they are between two marks (notation.h), held to lengths and patterns: none
// of them may hold the letters of the mark that ends it, or what follows could be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "grammar/notation.h"
#include "grammar/regex.h"

namespace tempo9::grammar {

// Of min to max characters; no max: any number. Texts with the mark's first letter are let
// through up to a third of max only.
std::string counted_raw_text(const Notation& notation, int64_t min, std::optional<int64_t> max);

// Of the pattern. No value: the mark cannot be kept out of it.
std::optional<std::string> raw_text_of_pattern(const RegexNode& pattern, const Notation& notation);

// A key of the pattern, in the characters that keys have where they stand as they are.
std::optional<std::string> raw_key_of_pattern(const RegexNode& pattern, const Notation& notation);

}  // namespace tempo9::grammar
