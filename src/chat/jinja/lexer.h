// Template source to tokens, with the white space rules of trim_blocks and lstrip_blocks. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::chat::jinja {

enum class TokenKind {
  kData,           // text between tags, already trimmed
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kName,
  kString,   // unescaped
  kInteger,  // decimal digits of the value, any base resolved
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 1;
  bool is(TokenKind k, std::string_view t) const { return kind == k && text == t; }
  bool op(std::string_view t) const { return is(TokenKind::kOperator, t); }
  bool name(std::string_view t) const { return is(TokenKind::kName, t); }
};

// "line 3: reason"
Error syntax_error(int line, std::string_view reason);

// The last token is kEnd. Errors: syntax_error.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace tempo9::chat::jinja
