// Expressions.
#include <algorithm>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/parser_core.h"
#include "chat/jinja/print.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

Status Interpreter::check(const Value& v) const {
  if (v.depth() > kMaxValueDepth) {
    return make_error(ErrorCode::kResourceExhausted, "the template nests values deeper than {}",
                      kMaxValueDepth);
  }
  if (v.weight() > kMaxValueWeight) {
    return make_error(ErrorCode::kResourceExhausted,
                      "the template made a value of more than {} parts", kMaxValueWeight);
  }
  return {};
}

Result<Value> Interpreter::eval(const Expr& e) {
  if (e.kind == Expr::Kind::kConst) return e.value;
  T9_TRY(charge(1));
  Nesting nesting(&depth_);
  if (nesting.too_deep(kMaxEvalDepth))
    return python_error("RecursionError", "the template nests too deeply");
  T9_TRY(Value v, eval_node(e));
  T9_TRY(check(v));
  return v;
}

Result<Value> Interpreter::eval_node(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kConst:
      return e.value;
    case Expr::Kind::kName:
    case Expr::Kind::kNsRef:
      return lookup(e.name_id);
    case Expr::Kind::kTuple:
      return eval_items(e, Type::kTuple);
    case Expr::Kind::kList:
      return eval_items(e, Type::kList);
    case Expr::Kind::kDict:
      return eval_dict(e);
    case Expr::Kind::kUnary:
      return eval_unary(e);
    case Expr::Kind::kBinary: {
      T9_TRY(Value a, eval(*e.operands[0]));
      T9_TRY(Value b, eval(*e.operands[1]));
      return binary_op(*this, e.name, a, b);
    }
    case Expr::Kind::kAnd:
    case Expr::Kind::kOr: {
      T9_TRY(Value a, eval(*e.operands[0]));
      if (truthy(a) == (e.kind == Expr::Kind::kOr)) return a;
      return eval(*e.operands[1]);
    }
    case Expr::Kind::kConcat:
      return eval_concat(e);
    case Expr::Kind::kCompare:
      return eval_compare(e);
    case Expr::Kind::kCond:
      return eval_cond(e);
    case Expr::Kind::kGetattr: {
      T9_TRY(Value object, eval(*e.operands[0]));
      return get_attribute(object, e.name);
    }
    case Expr::Kind::kGetitem:
      return eval_getitem(e);
    case Expr::Kind::kSlice:
      return type_error("a slice cannot stand inside a tuple");
    case Expr::Kind::kCall:
      return eval_call(e, nullptr);
    case Expr::Kind::kFilter:
      return eval_filter(e, nullptr);
    case Expr::Kind::kTest: {
      T9_TRY(Value input, eval(*e.operands[0]));
      T9_TRY(Args args, eval_args(e.call));
      if (find_test(e.name) == nullptr)
        return template_error(fmt::format("No test named '{}' found.", e.name));
      T9_TRY(bool yes, apply_test(e.name, input, args));
      return Value::boolean(yes);
    }
  }
  return Value();
}

Result<Value> Interpreter::eval_items(const Expr& e, Type type) {
  Items items;
  items.reserve(e.operands.size());
  for (const ExprPtr& operand : e.operands) {
    T9_TRY(Value v, eval(*operand));
    items.push_back(std::move(v));
  }
  return make_list(std::move(items), type);
}

Result<Value> Interpreter::eval_dict(const Expr& e) {
  auto dict = std::make_shared<Dict>();
  for (size_t i = 0; i < e.operands.size(); i += 2) {
    T9_TRY(Value key, eval(*e.operands[i]));
    T9_TRY(Value value, eval(*e.operands[i + 1]));
    T9_TRY(check_hashable(key));
    dict->set(std::move(key), std::move(value));
  }
  return Value::object(Type::kDict, std::move(dict));
}

Result<Value> Interpreter::eval_unary(const Expr& e) {
  T9_TRY(Value v, eval(*e.operands[0]));
  if (e.name == "not") return Value::boolean(!truthy(v));
  if (v.is_undefined()) return undefined_error(v);
  if (!v.is_number())
    return type_error("bad operand type for unary {}: '{}'", e.name, type_name(v));
  bool negate = e.name == "-";
  if (v.is(Type::kFloat)) return Value::real(negate ? -v.as_double() : v.as_double());
  if (negate && v.as_int() == INT64_MIN)
    return python_error("OverflowError", "integer too large (more than 64 bits)");
  return Value::integer(negate ? -v.as_int() : v.as_int());
}

Result<Value> Interpreter::eval_concat(const Expr& e) {
  Text out;
  for (const ExprPtr& operand : e.operands) {
    T9_TRY(Value v, eval(*operand));
    T9_TRY(charge(v.weight()));
    if (v.is_string())
      out.append(v.text());
    else
      out.append(python_str(v));
  }
  return make_text(std::move(out));
}

Result<bool> Interpreter::equals(const Value& a, const Value& b) {
  T9_TRY(charge(std::min(a.weight(), b.weight())));
  return equal(a, b);
}

Result<bool> Interpreter::contains(const Value& container, const Value& v) {
  switch (container.type()) {
    case Type::kString: {
      if (!v.is_string()) {
        return type_error("'in <string>' requires string as left operand, not {}", type_name(v));
      }
      T9_TRY(charge(container.weight()));
      return container.text().bytes().find(v.text().bytes()) != std::string::npos;
    }
    case Type::kDict: {
      T9_TRY(check_hashable(v));
      if (!v.is_string()) T9_TRY(charge(container.get<Dict>().entries.size()));
      return container.get<Dict>().find(v) != nullptr;
    }
    case Type::kView:
      if (container.get<View>().of == View::Of::kKeys)
        return contains(container.get<View>().dict, v);
      break;
    case Type::kRange: {
      if (!v.is_intlike()) break;
      const Range& range = container.get<Range>();
      int64_t offset = v.as_int() - range.start;
      return offset % range.step == 0 && offset / range.step >= 0 &&
             offset / range.step < range.size();
    }
    default:
      break;
  }
  Result<Cursor> cursor = Cursor::over(container);
  if (!cursor) return type_error("argument of type '{}' is not iterable", type_name(container));
  for (;;) {
    T9_TRY(charge(1));
    T9_TRY(std::optional<Value> item, cursor->next());
    if (!item) return false;
    T9_TRY(bool same, equals(*item, v));
    if (same) return true;
  }
}

Result<bool> Interpreter::compare(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return equals(a, b);
  if (op == "in") return contains(b, a);
  if (op == "!=" || op == "not in") {
    T9_TRY(bool yes, compare(op == "!=" ? "==" : "in", a, b));
    return !yes;
  }
  T9_TRY(charge(std::min(a.weight(), b.weight())));
  if (op == "<") return less(a, b, op);
  if (op == ">") {
    // Written the other way round, but an error still names the operands as they stand.
    if (Result<bool> possible = less(a, b, op); !possible) return possible;
    return less(b, a, op);
  }
  // <= and >=: not simply "not less", because of NaN.
  if (Result<bool> possible = less(a, b, op); !possible) return possible;
  T9_TRY(bool before, op == "<=" ? less(a, b, op) : less(b, a, op));
  return before || equal(a, b);
}

Result<Value> Interpreter::eval_compare(const Expr& e) {
  T9_TRY(Value left, eval(*e.operands[0]));
  for (size_t i = 0; i < e.ops.size(); ++i) {
    T9_TRY(Value right, eval(*e.operands[i + 1]));
    T9_TRY(bool yes, compare(e.ops[i], left, right));
    if (!yes) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::eval_cond(const Expr& e) {
  T9_TRY(Value condition, eval(*e.operands[0]));
  if (truthy(condition)) return eval(*e.operands[1]);
  if (e.operands[2]) return eval(*e.operands[2]);
  return Value::undefined_hint(fmt::format(
      "the inline if-expression on line {} evaluated to false and no else section was defined.",
      e.line));
}

// ---- attributes and items

Result<Value> Interpreter::get_attribute(const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_error(object);
  if (is_unsafe_attribute(object, name)) {
    return Value::undefined_hint(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)));
  }
  T9_TRY(std::optional<Value> found, special_attribute(object, name));
  if (found) return std::move(*found);
  if (object.is(Type::kDict)) {
    if (const Value* v = object.get<Dict>().find(name)) return *v;
  }
  return Value::undefined_member(object, Value::string(name));
}

namespace {

// The place of index i in a sequence of n, or no value when outside.
std::optional<size_t> place(int64_t i, int64_t n) {
  if (i < 0) i += n;
  if (i < 0 || i >= n) return std::nullopt;
  return static_cast<size_t>(i);
}

// Byte offset of each of the wanted characters is found by walking once.
size_t byte_of_char(std::string_view bytes, size_t n_chars) {
  size_t at = 0;
  for (size_t i = 0; i < n_chars && at < bytes.size(); ++i) at += decode_utf8(bytes, at).n_bytes;
  return at;
}

Value char_at(const Value& string, size_t index) {
  const Text& text = string.text();
  bool ascii = static_cast<size_t>(*length_of(string)) == text.size();
  size_t begin = ascii ? index : byte_of_char(text.view(), index);
  return Value::string(text.slice(begin, begin + decode_utf8(text.view(), begin).n_bytes));
}

}  // namespace

Result<Value> Interpreter::get_item(const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is(Type::kDict)) {
    if (Status hashable = check_hashable(key); hashable) {
      if (!key.is_string()) T9_TRY(charge(object.get<Dict>().entries.size()));
      if (const Value* v = object.get<Dict>().find(key)) return *v;
    }
  } else if (key.is_intlike()) {
    bool indexable = object.is_string() || object.is_sequence() || object.is(Type::kRange);
    if (std::optional<size_t> i =
            indexable ? place(key.as_int(), *length_of(object)) : std::nullopt) {
      if (object.is_string()) {
        T9_TRY(charge(object.weight() / 8 + 1));
        return char_at(object, *i);
      }
      if (object.is(Type::kRange))
        return Value::integer(object.get<Range>().at(static_cast<int64_t>(*i)));
      return object.items()[*i];
    }
  }
  if (!key.is_string()) return Value::undefined_member(object, key);
  std::string_view name = key.text().view();
  if (is_unsafe_attribute(object, name)) {
    return Value::undefined_hint(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)));
  }
  T9_TRY(std::optional<Value> found, special_attribute(object, name));
  if (found) return std::move(*found);
  return Value::undefined_member(object, key);
}

Result<Value> Interpreter::eval_getitem(const Expr& e) {
  T9_TRY(Value object, eval(*e.operands[0]));
  if (e.operands[1]->kind == Expr::Kind::kSlice) return eval_slice(object, *e.operands[1]);
  T9_TRY(Value key, eval(*e.operands[1]));
  return get_item(object, key);
}

namespace {

struct SliceBounds {
  int64_t start, step, count;
};

// Python's rule for a slice of a sequence of n. Null: not given.
SliceBounds slice_bounds(const int64_t* start, const int64_t* stop, int64_t step, int64_t n) {
  int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  auto clamp = [&](const int64_t* given, int64_t otherwise) {
    if (given == nullptr) return otherwise;
    int64_t i = *given < 0 ? *given + n : *given;
    return std::clamp(i, low, high);
  };
  int64_t first = clamp(start, step < 0 ? high : low);
  int64_t last = clamp(stop, step < 0 ? low : high);
  int64_t count = 0;
  if (step > 0 && first < last) count = (last - first - 1) / step + 1;
  if (step < 0 && first > last) count = (first - last - 1) / -step + 1;
  return {first, step, count};
}

Text slice_text(const Text& text, int64_t n_chars, const SliceBounds& b) {
  std::string_view bytes = text.view();
  if (b.step == 1) {
    size_t begin = byte_of_char(bytes, static_cast<size_t>(b.start));
    size_t length = byte_of_char(bytes.substr(begin), static_cast<size_t>(b.count));
    return text.slice(begin, begin + length);
  }
  std::vector<size_t> starts;  // of each character, and the end
  starts.reserve(static_cast<size_t>(n_chars) + 1);
  for (size_t at = 0; at < bytes.size(); at += decode_utf8(bytes, at).n_bytes) starts.push_back(at);
  starts.push_back(bytes.size());
  Text out;
  out.set_markup(text.markup());
  for (int64_t i = 0; i < b.count; ++i) {
    auto c = static_cast<size_t>(b.start + i * b.step);
    out.append_slice(text, starts[c], starts[c + 1]);
  }
  return out;
}

}  // namespace

Result<Value> Interpreter::eval_slice(const Value& object, const Expr& slice) {
  int64_t given[3] = {0, 0, 1};
  bool has[3] = {false, false, false};
  for (size_t i = 0; i < 3; ++i) {
    if (!slice.operands[i]) continue;
    T9_TRY(Value v, eval(*slice.operands[i]));
    if (v.is(Type::kNone)) continue;
    if (!v.is_intlike()) {
      return type_error("slice indices must be integers or None or have an __index__ method");
    }
    constexpr int64_t kFar = int64_t{1} << 40;  // beyond any length, and safe to add to
    given[i] = std::clamp(v.as_int(), -kFar, kFar);
    has[i] = true;
  }
  if (object.is_undefined()) return undefined_error(object);
  if (object.is(Type::kDict)) return type_error("unhashable type: 'slice'");
  if (!object.is_string() && !object.is_sequence() && !object.is(Type::kRange)) {
    return type_error("'{}' object is not subscriptable", type_name(object));
  }
  if (given[2] == 0) return value_error("slice step cannot be zero");
  int64_t n = *length_of(object);
  SliceBounds b =
      slice_bounds(has[0] ? &given[0] : nullptr, has[1] ? &given[1] : nullptr, given[2], n);
  if (object.is_string()) {
    T9_TRY(charge(object.weight()));
    return make_text(slice_text(object.text(), n, b));
  }
  if (object.is(Type::kRange)) {
    const Range& range = object.get<Range>();
    auto out = std::make_shared<Range>();
    out->start = range.at(b.start);
    out->step = range.step * b.step;
    out->stop = out->start + b.count * out->step;
    return Value::object(Type::kRange, std::move(out));
  }
  Items items;
  for (int64_t i = 0; i < b.count; ++i)
    items.push_back(object.items()[static_cast<size_t>(b.start + i * b.step)]);
  return make_list(std::move(items), object.type());
}

// ---- calls

Result<Args> Interpreter::eval_args(const CallArgs& call) {
  Args args;
  for (const ExprPtr& e : call.positional) {
    T9_TRY(Value v, eval(*e));
    args.positional.push_back(std::move(v));
  }
  for (const auto& [name, e] : call.keyword) {
    T9_TRY(Value v, eval(*e));
    args.keyword.emplace_back(name, std::move(v));
  }
  if (call.dyn_args) {
    T9_TRY(Value v, eval(*call.dyn_args));
    T9_TRY(Items items, items_of(v));
    args.positional.insert(args.positional.end(), items.begin(), items.end());
  }
  if (call.dyn_kwargs) {
    T9_TRY(Value v, eval(*call.dyn_kwargs));
    if (!v.is(Type::kDict))
      return type_error("argument after ** must be a mapping, not {}", type_name(v));
    for (const auto& [key, value] : v.get<Dict>().entries) {
      if (!key.is_string()) return type_error("keywords must be strings");
      args.keyword.emplace_back(key.text().bytes(), value);
    }
  }
  return args;
}

Result<Value> Interpreter::eval_call(const Expr& e, const Value* caller) {
  T9_TRY(Value callee, eval(*e.operands[0]));
  T9_TRY(Args args, eval_args(e.call));
  if (caller != nullptr) args.keyword.emplace_back("caller", *caller);
  return call(callee, args);
}

Result<Value> Interpreter::call(const Value& callee, const Args& args) {
  switch (callee.type()) {
    case Type::kUndefined:
      return undefined_error(callee);
    case Type::kFunction:
      return callee.get<Function>().call(*this, callee.get<Function>().self, args);
    case Type::kMacro:
      return call_macro(callee.get<Macro>(), args);
    case Type::kLoop: {
      const auto& loop = callee.get<Loop>();
      T9_TRY(Bound bound, bind("loop", args, {"iterable"}, 1));
      if (!loop.recurse) {
        return type_error("The loop must have the 'recursive' marker to be called recursively.");
      }
      return loop.recurse(bound[0]);
    }
    case Type::kJoiner: {
      auto& joiner = callee.get_mutable<Joiner>();
      if (std::exchange(joiner.used, true)) return joiner.separator;
      return Value::string("");
    }
    default:
      return type_error("'{}' object is not callable", type_name(callee));
  }
}

Result<Value> Interpreter::eval_filter(const Expr& e, const Value* input) {
  Value v;
  if (e.operands[0]) {
    // The innermost filter of a filter block takes the captured text.
    T9_TRY(v, e.operands[0]->kind == Expr::Kind::kFilter ? eval_filter(*e.operands[0], input)
                                                         : eval(*e.operands[0]));
  } else if (input != nullptr) {
    v = *input;
  }
  T9_TRY(Args args, eval_args(e.call));
  if (find_filter(e.name) == nullptr)
    return template_error(fmt::format("No filter named '{}' found.", e.name));
  return apply_filter(e.name, v, args);
}

Result<Value> Interpreter::apply_filter(std::string_view name, const Value& input,
                                        const Args& args) {
  T9_TRY(charge(1));
  Filter filter = find_filter(name);
  if (filter == nullptr) return template_error(fmt::format("No filter named '{}'.", name));
  return filter(*this, input, args);
}

Result<bool> Interpreter::apply_test(std::string_view name, const Value& input, const Args& args) {
  T9_TRY(charge(1));
  Test test = find_test(name);
  if (test == nullptr) return template_error(fmt::format("No test named '{}'.", name));
  return test(*this, input, args);
}

Result<Items> Interpreter::items_of(const Value& v) {
  if (v.is_sequence()) {
    T9_TRY(charge(v.items().size()));
    return v.items();
  }
  T9_TRY(Cursor cursor, Cursor::over(v));
  Items items;
  for (;;) {
    T9_TRY(charge(1));
    T9_TRY(std::optional<Value> item, cursor.next());
    if (!item) return items;
    items.push_back(std::move(*item));
  }
}

}  // namespace tempo9::chat::jinja
