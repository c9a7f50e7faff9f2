// Grammars in Lark's notation, as OpenAI's custom tools carry them, to rules that write their
// texts.
//
// Held: rules and terminals with | ( ) [ ] ? * + ~n ~n..m, strings (also "..."i), ranges of
// characters, regular expressions (flags i, s), %ignore, %import common.NAME (or several, or with
// -> NAME), aliases, priorities, the marks ? _ and ! of names, comments. A text is derived from the
// rules, without a lexer before them: where Lark's lexer would take the longest terminal, any is
// taken.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/regex.h"

namespace tempo9::grammar {

// Rules whose names begin with prefix; the grammar's start is the rule "<prefix>text". spelling:
// how the text stands in what is written.
// Errors: kInvalidArgument with the line for what is no such grammar; kUnsupported, naming it, for
// templates, %declare, %override, %extend, imports from elsewhere, and what no automaton holds in a
// regular expression.
Result<std::string> lark_to_ebnf(std::string_view source, Spelling spelling,
                                 std::string_view prefix);

}  // namespace tempo9::grammar
