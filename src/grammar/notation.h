// How values are written: as JSON, or as an output format writes the arguments of its calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/regex.h"
#include "grammar/schema.h"

namespace tempo9::grammar {

struct Notation {
  enum class Style {
    kJson,
    kParameters,  // each argument: key_begin KEY key_end VALUE value_end; text as it is, the rest
                  // as JSON
    kPython,      // KEY=VALUE, separated by commas, with Python literals
    kQuoted,      // as JSON, but with bare keys, and text as it is between two quotes
  };
  Style style = Style::kJson;
  // Expressions of a grammar.
  std::string key_begin, key_end, value_end;
  std::string key_end_json;  // what stands in place of key_end before JSON; empty: the same
  std::string quote;
  std::string mark;  // the letters that end a text as it is; empty: a control token does
  std::string text;  // what a text may be as it is: all that does not end it
};

// Of what a value is part.
enum class Place {
  kValue,      // of another value, or of nothing
  kArguments,  // all arguments of one call
  kText,       // one of them, in kParameters, if it is text
  kData,       // ... and if it is not
};

// Expressions. Those of value and key are what that very value or key looks like; a key brings what
// stands between it and its value.
std::string value_literal(const Json& value, const Notation& notation, Place place);
std::string key_literal(const std::string& key, const Notation& notation, Place place);
std::string any_key(const Notation& notation, Place place);
std::optional<std::string> key_of_pattern(const RegexNode& pattern, const Notation& notation,
                                          Place place);  // no value: there is none
std::string any_value(const Notation& notation, Place place);
std::string any_text(const Notation& notation, Place place);
// A text whose characters are inner's.
std::string text_of(const std::string& inner, const Notation& notation, Place place);
// A text of min to max characters, or of a pattern.
std::string counted_text(int64_t min, std::optional<int64_t> max, const Notation& notation,
                         Place place);
std::string text_of_pattern(const RegexNode& pattern, const Notation& notation, Place place);
Spelling spelling(const Notation& notation, Place place);
// true, false or null, with all its spellings.
std::string word_literal(std::string_view json_word, const Notation& notation, Place place);

// The brackets around a key and value, and what stands between two of them.
struct Brackets {
  std::string open, close, comma, empty;
};
Brackets object_brackets(const Notation& notation, Place place);

// Rules that the above and schema_to_ebnf() refer to: each once in a grammar; none besides the
// common ones for JSON.
std::string_view common_rules();
std::string notation_rules(const Notation& notation);

// "text" as a string of a grammar, quotes included.
std::string ebnf_literal(std::string_view text);

}  // namespace tempo9::grammar
