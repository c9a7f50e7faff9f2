// Numbers as text under a Python format specification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";  // one character
  char align = '\0';       // < > ^ = or none
  char sign = '-';         // - + or space
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  char grouping = '\0';  // , or _
  int64_t precision = -1;
  char type = '\0';
};

// Errors: ValueError.
Result<FormatSpec> parse_format_spec(std::string_view text);

// v is a number. Zero padding ("=" alignment) is applied here, any other padding is the caller's.
// Errors: ValueError for a type that does not fit.
Result<std::string> format_number(const Value& v, const FormatSpec& spec);

}  // namespace tempo9::chat::jinja
