// The tests behind "is".
#include <algorithm>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/print.h"

namespace tempo9::chat::jinja {
namespace {

template <bool (*f)(const Value&)>
Result<bool> simple(I&, const Value& v, const Args& args) {
  T9_TRY(bind("test", args, {}));
  return f(v);
}

template <Type... types>
bool is_any(const Value& v) {
  return (v.is(types) || ...);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_true(const Value& v) { return v.is(Type::kBool) && v.as_bool(); }
bool is_false(const Value& v) { return v.is(Type::kBool) && !v.as_bool(); }
bool is_number(const Value& v) { return v.is_number(); }
// Python's Undefined has a length and an item access, so it counts.
bool is_sequence(const Value& v) {
  return v.is_string() || v.is_sequence() || is_any<Type::kDict, Type::kRange, Type::kUndefined>(v);
}
bool is_iterable(const Value& v) { return Cursor::over(v).has_value(); }
bool is_callable(const Value& v) {
  return is_any<Type::kFunction, Type::kMacro, Type::kLoop, Type::kJoiner, Type::kUndefined>(v);
}
bool is_escaped(const Value& v) { return v.is_string() && v.text().markup(); }

Result<bool> divisible(I& in, const Value& v, const Value& by) {
  T9_TRY(Value rest, binary_op(in, "%", v, by));
  return equal(rest, Value::integer(0));
}

Result<bool> odd(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("odd", args, {}));
  T9_TRY(Value rest, binary_op(in, "%", v, Value::integer(2)));
  return equal(rest, Value::integer(1));
}

Result<bool> even(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("even", args, {}));
  return divisible(in, v, Value::integer(2));
}

Result<bool> divisibleby(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("divisibleby", args, {"num"}, 1));
  return divisible(in, v, b[0]);
}

template <bool upper>
Result<bool> in_case(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("upper", args, {}));
  Value text = Value::string(python_str(v));
  T9_TRY(Value yes, find_method(text, upper ? "isupper" : "islower")(in, text, Args()));
  return truthy(yes);
}

Result<bool> is_filter(I&, const Value& v, const Args& args) {
  T9_TRY(bind("filter", args, {}));
  T9_TRY(check_hashable(v));
  return v.is_string() && find_filter(v.text().view()) != nullptr;
}

Result<bool> is_test(I&, const Value& v, const Args& args) {
  T9_TRY(bind("test", args, {}));
  T9_TRY(check_hashable(v));
  return v.is_string() && find_test(v.text().view()) != nullptr;
}

// Identity: small things are the same when they are equal and of one type.
Result<bool> sameas(I&, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("sameas", args, {"other"}, 1));
  if (v.type() != b[0].type()) return false;
  if (is_any<Type::kNone, Type::kBool, Type::kInt>(v)) return equal(v, b[0]);
  if (v.is_string() && v.text().size() <= 1) return equal(v, b[0]);
  return v.identity() != nullptr && v.identity() == b[0].identity();
}

Result<bool> in_test(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("in", args, {"seq"}, 1));
  return in.contains(b[0], v);
}

enum class Op { kEq, kNe, kLt, kLe, kGt, kGe };

template <Op op>
Result<bool> compare(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("compare", args, {"other"}, 1));
  const Value& w = b[0];
  T9_TRY(bool same, in.equals(v, w));
  if (op == Op::kEq) return same;
  if (op == Op::kNe) return !same;
  constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
  std::string_view sign = kSigns[static_cast<size_t>(op)];
  Result<bool> before = less(v, w, sign);
  if (!before || op == Op::kLt) return before;
  if (op == Op::kLe) return *before || same;
  T9_TRY(bool after, less(w, v, sign));
  return after || (op == Op::kGe && same);
}

struct TestEntry {
  std::string_view name;
  Test test;
};

constexpr TestEntry kTests[] = {
    {"defined", simple<is_defined>},
    {"undefined", simple<is_any<Type::kUndefined>>},
    {"none", simple<is_any<Type::kNone>>},
    {"boolean", simple<is_any<Type::kBool>>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"integer", simple<is_any<Type::kInt>>},
    {"float", simple<is_any<Type::kFloat>>},
    {"number", simple<is_number>},
    {"string", simple<is_any<Type::kString>>},
    {"mapping", simple<is_any<Type::kDict>>},
    {"sequence", simple<is_sequence>},
    {"iterable", simple<is_iterable>},
    {"callable", simple<is_callable>},
    {"escaped", simple<is_escaped>},
    {"odd", odd},
    {"even", even},
    {"divisibleby", divisibleby},
    {"upper", in_case<true>},
    {"lower", in_case<false>},
    {"filter", is_filter},
    {"test", is_test},
    {"sameas", sameas},
    {"in", in_test},
    {"==", compare<Op::kEq>},
    {"eq", compare<Op::kEq>},
    {"equalto", compare<Op::kEq>},
    {"!=", compare<Op::kNe>},
    {"ne", compare<Op::kNe>},
    {"<", compare<Op::kLt>},
    {"lt", compare<Op::kLt>},
    {"lessthan", compare<Op::kLt>},
    {"<=", compare<Op::kLe>},
    {"le", compare<Op::kLe>},
    {">", compare<Op::kGt>},
    {"gt", compare<Op::kGt>},
    {"greaterthan", compare<Op::kGt>},
    {">=", compare<Op::kGe>},
    {"ge", compare<Op::kGe>},
};

}  // namespace

Test find_test(std::string_view name) {
  auto it = std::find_if(std::begin(kTests), std::end(kTests),
                         [&](const TestEntry& e) { return e.name == name; });
  return it == std::end(kTests) ? nullptr : it->test;
}

}  // namespace tempo9::chat::jinja
