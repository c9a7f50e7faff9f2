// The part of JSON Schema that decides a value's type.
#pragma once

#include "chat/message.h"

namespace tempo9::chat {

// See coerce() in call.h. Reads type (one or a list), properties, items, additionalProperties,
// enum, anyOf, oneOf, allOf and local $ref; nesting is bounded.
Json coerce(const Json& value, const Json& schema);

}  // namespace tempo9::chat
