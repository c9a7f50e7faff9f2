// What calls look like in an output format, as data: for those who write calls (a grammar that
// constrains them, a reply that is begun with one) what its parser is for those who read them.
//
//   reply's calls = begin call (between call)* end
//   call          = call_begin NAME [number_mark INDEX] name_end arguments call_end
//
// The pieces are spellings as the model's own template writes them. Those in marks are control
// tokens where the vocabulary has them; all else is plain text.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::chat {

// label: stands behind the opening mark and belongs to it ("thought" in Gemma 4).
struct ThinkingMarks {
  std::string_view open, close, label = {};
};

struct CallSyntax {
  enum class Arguments {
    kNone,        // the format has no calls
    kJson,        // one JSON object, "{}" for none
    kParameters,  // each: key_begin KEY key_end VALUE value_end; a string's VALUE is its raw text,
                  // any other is JSON
    kPython,      // KEY=VALUE, separated by ", ", with Python literals
    kGemma,       // {KEY:VALUE,...}: strings between quote marks, keys bare, the rest as JSON
  };
  Arguments arguments = Arguments::kNone;
  std::string_view begin, call_begin, number_mark, name_end, call_end, between, end;
  std::string_view key_begin, key_end, value_end;  // kParameters
  // kParameters: what stands in place of key_end when the value is not a string; empty: the same.
  std::string_view key_end_json;
  std::string_view quote;  // kGemma
  std::vector<ThinkingMarks> thinking;
  // Thinking may come again behind other text; what stands in front of text that is no call.
  // Harmony's messages are so.
  bool thinks_anywhere = false;
  std::string_view text_begin;
  std::vector<std::string_view> marks;
  // Marks that end the reply when a call is complete, behind the last piece (Harmony's <|call|>).
  // Several calls in one reply are then not possible.
  bool ends_reply = false;
};

// Its names stand in quotes, as JSON.
inline bool writes_json_name(const CallSyntax& syntax) {
  return syntax.arguments == CallSyntax::Arguments::kJson && syntax.call_begin.ends_with('"');
}

// The syntax of a format that parsers/list.inc names. kNone for "none".
// Errors: kInvalidArgument for an unknown name, listing the known ones.
Result<CallSyntax> call_syntax(std::string_view format);

}  // namespace tempo9::chat
