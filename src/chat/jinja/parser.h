// Tokens to a syntax tree, with the grammar of Jinja2 3.1 plus loop controls and the generation
// tag. Pure; any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/jinja/ast.h"

namespace tempo9::chat::jinja {

// Errors: kInvalidArgument, "line 3: reason". Templates that pull in others (include, import,
// extends) are refused.
Result<Tree> parse(std::string_view source);

}  // namespace tempo9::chat::jinja
