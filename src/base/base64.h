// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tempo9 {

enum class Base64 {
  kPadded,  // section 4
  kUrl,     // section 5: the URL's alphabet, without padding
};

std::string encode_base64(std::string_view bytes, Base64 kind = Base64::kPadded);

// The padding of kPadded may be left out. None: a character that is not of the alphabet, or a
// length that no encoder writes.
std::optional<std::string> decode_base64(std::string_view text, Base64 kind = Base64::kPadded);

}  // namespace tempo9
