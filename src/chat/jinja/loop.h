// Iteration: a cursor over anything iterable, the `loop` variable, macros.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "chat/jinja/ast.h"
#include "chat/jinja/value.h"

namespace tempo9::chat::jinja {

// Walks a value item by item. Reading an iterator uses it up.
class Cursor {
 public:
  // Errors: TypeError for what cannot be iterated.
  static Result<Cursor> over(const Value& v);
  // No value at the end. Errors: what a generator raises.
  Result<std::optional<Value>> next();

 private:
  explicit Cursor(Value v) : value_(std::move(v)) {}
  Value value_;
  size_t at_ = 0;  // item, or byte of a string
};

// len(v); no value for what has none.
std::optional<int64_t> length_of(const Value& v);
// The item of a view at a place.
Value view_item(const View& view, size_t at);

using Pull = std::function<Result<std::optional<Value>>()>;

struct Loop : Object {
  Pull pull;
  std::function<Result<Value>(const Value&)> recurse;  // empty: not a recursive loop
  std::optional<int64_t> length;
  std::deque<Value> pending;  // pulled ahead of the body
  bool exhausted = false;
  int64_t index0 = -1;
  int64_t depth0 = 0;
  Value previous, current;
  std::optional<Items> last_changed;

  Result<bool> advance();  // false at the end
  Status fill(size_t n);   // pull until n are pending or the end
  Result<int64_t> total();
};

struct Frame;
struct Macro : Object {
  const Stmt* stmt = nullptr;
  const Tree* tree = nullptr;
  std::shared_ptr<Frame> closure;
  bool anonymous = false;  // the body of a call block
};

// Attributes of a loop, a macro, a cycler, a range: no value if there is none of that name.
Result<std::optional<Value>> special_attribute(const Value& object, std::string_view name);

std::string describe_object(const Value& v);  // repr of a macro or a loop

}  // namespace tempo9::chat::jinja
