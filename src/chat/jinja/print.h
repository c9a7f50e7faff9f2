// Values as text: str(x), repr(x) and json.dumps(x), with the marks of the strings inside.
#pragma once

#include <string>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

Text python_str(const Value& v);   // str(x): what {{ x }} prints
Text python_repr(const Value& v);  // repr(x)
void append_repr(const Value& v, Text* out);

std::string format_float(
    double d);  // repr of a float: shortest digits that read back, Python's exponents

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  Text indent;                       // one level, when indented
  Text item_separator = Text(", ");  // "," when indented
  Text key_separator = Text(": ");
};
// Errors: TypeError for what JSON has no form for, ResourceExhausted past max_bytes.
Result<Text> json_dumps(const Value& v, const JsonStyle& style, size_t max_bytes);

}  // namespace tempo9::chat::jinja
