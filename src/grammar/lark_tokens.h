// The words of a grammar in Lark's notation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::grammar {

enum class LarkKind { kName, kString, kRegex, kNumber, kMark, kDirective, kLineEnd, kEnd };

struct LarkToken {
  LarkKind kind = LarkKind::kEnd;
  std::string text;   // of a string its characters, of a regular expression the pattern
  std::string flags;  // behind a string or regular expression
  uint32_t line = 0;

  bool is(std::string_view mark) const { return kind == LarkKind::kMark && text == mark; }
};

// Ends with kEnd. Line ends that mean nothing (before "|", within brackets, empty lines) are left
// out. Errors: kInvalidArgument with the line.
Result<std::vector<LarkToken>> lark_tokens(std::string_view source);

}  // namespace tempo9::grammar
