// Decimal numbers within bounds, as grammar text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tempo9::grammar {

// Integers from low to high, both included; none: no bound. Requires: low <= high.
std::string integers_ebnf(std::optional<int64_t> low, std::optional<int64_t> high);

}  // namespace tempo9::grammar
