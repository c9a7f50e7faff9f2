// Decimal numbers within bounds, as grammar text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tempo9::grammar {

// Of an integer that has no bound. Numbers have an end: a small model that may write any amount of
// digits sometimes writes nothing else.
inline constexpr size_t kMaxDigits = 40;

// Integers from low to high, both included; none: no bound. Requires: whole numbers, low <= high,
// and magnitudes below 2^64.
std::string integers_ebnf(std::optional<long double> low, std::optional<long double> high);

}  // namespace tempo9::grammar
