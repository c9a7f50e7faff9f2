// Names and strings from a file, before they go into messages or onto a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tempo9::gguf {

// Well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above
// U+10FFFF.
bool is_utf8(std::string_view text);

// For messages: control characters and bytes that are not UTF-8 become \n, \t or \xNN; cut to about
// max_bytes of the original, with "..." where something was left out.
std::string printable(std::string_view text, size_t max_bytes = 80);

}  // namespace tempo9::gguf
