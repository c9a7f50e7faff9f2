// What several formats' blocks have in common.
#pragma once

#include <string_view>

#include "chat/parsers/format.h"

namespace tempo9::chat {

// One or more JSON values that are calls ({"name": ..., "arguments": {...}} or a list of them), up
// to close; another open stands for it. For what follows the opening mark.
void read_json_block(Reader& in, Block& block, std::string_view open, std::string_view close);

// The syntax of such a call, from its name on: call_begin ends with the quote before it.
CallSyntax json_call_syntax(std::string_view call_begin, std::string_view call_end);

// The arguments of one call, as a JSON object; fails if they are none.
void read_json_arguments(Reader& in, Block& block, std::string_view name);

// A list of calls as Python or JSON writes it, or one call.
void read_python_or_json(Reader& in, Block& block);

// One call whose arguments came as texts: each gets the type that the tool's schema declares; what
// it does not declare stays text. Fails for an empty name.
void add_typed_call(Reader& in, Block& block, std::string_view name, const Json& arguments);

// Without one line break at each end.
std::string_view without_line_ends(std::string_view text);

}  // namespace tempo9::chat
