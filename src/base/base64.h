// Base64 (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tempo9 {

std::string encode_base64(std::string_view bytes);

// Padding may be left out. None: a character that is not of the alphabet, or a length that no
// encoder writes.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace tempo9
