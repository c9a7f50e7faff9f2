// JSON whose integers are never changed, however long.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/message.h"

namespace tempo9::chat {

// An integer that no 64-bit type holds becomes a binary value, which JSON text cannot otherwise
// give, with its digits as they were written. No value: not JSON, or a NUL behind it.
std::optional<Json> parse_exactly(std::string_view text);

// The digits of such an integer; null for every other value.
const Json::binary_t* long_integer(const Json& value);

// Compact, with those integers as they were written. Bytes that are no UTF-8 become U+FFFD.
std::string dump_exactly(const Json& value);

}  // namespace tempo9::chat
