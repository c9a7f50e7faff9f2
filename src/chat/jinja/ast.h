// The syntax tree of a template. Immutable once compiled, so one tree serves any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

using NameId = int32_t;  // index into Tree::names

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

// f(a, b, key=c, *list, **dict)
struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keyword;
  ExprPtr dyn_args;    // may be null
  ExprPtr dyn_kwargs;  // may be null
};

struct Expr {
  enum class Kind {
    kConst,  // value
    kName,   // name_id
    kNsRef,  // name_id . name, as a target only
    kTuple,
    kList,
    kDict,    // operands: key, value, key, value...
    kUnary,   // name: "-" "+" "not"
    kBinary,  // name: "+" "-" "*" "/" "//" "%" "**"
    kAnd,
    kOr,
    kConcat,   // operands joined as text
    kCompare,  // operands[0] ops[0] operands[1] ops[1] operands[2]...
    kCond,     // operands: test, then, else (may be null)
    kGetattr,  // operands[0] . name
    kGetitem,  // operands[0] [operands[1]]
    kSlice,    // operands: start, stop, step; each may be null
    kCall,     // operands[0] (call)
    kFilter,   // operands[0] (null in a filter block) | name (call)
    kTest,     // operands[0] is name (call)
  };
  Kind kind;
  int line = 0;
  int depth = 1;
  std::string name;
  NameId name_id = -1;
  Value value;
  std::vector<ExprPtr> operands;
  std::vector<std::string> ops;
  CallArgs call;
};

// How a name of a scope gets its first value.
enum class Load { kParameter, kContext, kAlias, kMissing };
struct ScopeName {
  NameId name;
  Load load;
};
// One frame's names, as the reference's compiler would declare them (see scope.h).
struct Scope {
  std::vector<ScopeName> names;
};

struct Stmt {
  enum class Kind {
    kOutput,       // exprs
    kFor,          // target in iter if test: body else orelse
    kIf,           // branches; orelse
    kSet,          // target = value
    kSetBlock,     // target; filter (may be null); body
    kMacro,        // name(params): body
    kCallBlock,    // params; call; body
    kFilterBlock,  // filter; body
    kWith,         // targets = exprs; body
    kBlock,        // name; body
    kScope,        // body in a frame of its own (autoescape)
    kBreak,
    kContinue,
  };
  Kind kind;
  int line = 0;
  std::string name;
  NameId name_id = -1;
  ExprPtr target;  // kName, kNsRef or kTuple of these
  ExprPtr value;   // iter of a for, value of a set, call of a call block
  ExprPtr test;    // filter of a for
  ExprPtr filter;
  std::vector<ExprPtr> exprs;
  std::vector<ExprPtr> targets;
  Body body, orelse;
  std::vector<std::pair<ExprPtr, Body>> branches;  // if, elif...
  bool recursive = false;
  bool extended = false;  // a for whose body reads loop.*
  bool scoped = false;    // a block that sees the frame around it

  // kMacro and kCallBlock; defaults belong to the last params.
  std::vector<NameId> params;
  std::vector<ExprPtr> defaults;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false, explicit_caller = false;

  Scope scope;                     // of the body
  Scope test_scope, orelse_scope;  // of a for
};

struct Tree {
  std::vector<std::string> names;
  Body body;
  Scope scope;
  NameId loop = -1, caller = -1, kwargs = -1, varargs = -1;
};

}  // namespace tempo9::chat::jinja
