// The parts of schema_ebnf.h that are about single values and counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/conjunction.h"
#include "grammar/notation.h"
#include "grammar/schema.h"

namespace tempo9::grammar {

inline constexpr int64_t kManyItems = 5'000;  // counts above are left to validate()

const Json* keyword(const Json& schema, const char* key);  // null: it is not there

// Branches of which any fits.
std::string joined(const std::vector<std::string>& branches);
// item, min to max times; no max: any number.
std::string counted(std::string_view item, int64_t min, std::optional<int64_t> max);

struct Count {
  int64_t min = 0;
  std::optional<int64_t> max;
};
int64_t as_count(const Json& value);
// What all terms together allow; no value: no count fits.
std::optional<Count> count_of(const Conjunction& terms, const char* min_key, const char* max_key);

// Expressions; no value: nothing fits.
std::optional<std::string> string_body(const Schema& schema, const Conjunction& terms,
                                       const Notation& notation, Place place);
std::optional<std::string> number_body(const Conjunction& terms, bool is_integer);

}  // namespace tempo9::grammar
