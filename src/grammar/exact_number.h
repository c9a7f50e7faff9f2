// Numbers of JSON as JSON Schema means them: by their mathematical value. An integer that no 64-bit
// type holds keeps its digits, as a binary value, which JSON text cannot otherwise give (as in
// chat/exact_json.h); all else is what the library makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "grammar/schema.h"

namespace tempo9::grammar {

// JSON text, with such integers. Errors: kInvalidArgument for what is no JSON.
Result<Json> parse_json(std::string_view text);

// What the library made of a number's text, or such an integer.
Json exact_number(std::string_view text, Json read);

bool is_long_integer(const Json& value);
bool is_number(const Json& value);  // also such an integer
bool is_integer(const Json& value);
// As JSON text. REQUIRES: a number.
std::string number_text(const Json& number);
// REQUIRES: a number. Exact up to 64 bits.
long double as_real(const Json& number);
// Rounded down; at the ends of its range where it is beyond them.
int64_t as_int64(const Json& number);

// < 0, 0, > 0. Exact where both are integers.
int compare_numbers(const Json& a, const Json& b);
// of > 0.
bool is_multiple(const Json& value, const Json& of);

}  // namespace tempo9::grammar
