// JSON whose numbers keep their digits: integers however long, and fractions as they were written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/message.h"

namespace tempo9::chat {

// A number that the library would print in another way (an integer that no 64-bit type holds, 2.50,
// -0) or does not hold (1e400) becomes a binary value, which JSON text cannot otherwise give, with
// its text as it was written. No value: not JSON, or a NUL behind it.
std::optional<Json> parse_exactly(std::string_view text);

// The text of such a number; null for every other value.
const Json::binary_t* exact_number(const Json& value);
// It is an integer: no fraction and no exponent.
bool is_long_integer(const Json& value);
double to_double(const Json& value);  // REQUIRES: a number, or such a one

// Compact, with those numbers as they were written. Bytes that are no UTF-8 become U+FFFD.
std::string dump_exactly(const Json& value);

// Such numbers become doubles, for those who count with them; but for long integers, if those are
// to be kept. False: one is beyond a double's range, and became the last within it.
bool make_plain(Json* value, bool keep_long_integers = false);

}  // namespace tempo9::chat
