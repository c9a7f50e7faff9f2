// Which frame a name lives in, worked out before anything runs, as the reference's compiler does
// it.
//
// Jinja's rules look dynamic and are not: a loop body, a macro, a with, a set block has one frame;
// a name that is stored anywhere in a frame belongs to it from its start, and begins there as a
// copy of the outer one (kAlias), as the caller's variable (kContext) or as undefined (kMissing).
#pragma once

#include "base/result.h"
#include "chat/jinja/ast.h"

namespace tempo9::chat::jinja {

// Fills every Scope of the tree, Stmt::extended and the uses_* fields of macros.
// Errors: an assignment to `loop` inside a for; a filter or test that does not exist, outside of an
// if.
Status resolve_scopes(Tree* tree);

}  // namespace tempo9::chat::jinja
