// Percent encoding in URIs (RFC 3986).
#pragma once

#include <string>
#include <string_view>

namespace tempo9 {

// %XX to bytes; a % without two hex digits stays as it is. '+' is not a space in a path.
std::string percent_decode(std::string_view text);

}  // namespace tempo9
