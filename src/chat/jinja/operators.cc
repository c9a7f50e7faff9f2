// Python's binary operators.
#include <cmath>

#include "chat/jinja/interpreter.h"
#include "chat/jinja/markup.h"
#include "chat/jinja/print.h"

namespace tempo9::chat::jinja {
namespace {

Error unsupported(std::string_view op, const Value& a, const Value& b) {
  if (op == "**") op = "** or pow()";
  return type_error("unsupported operand type(s) for {}: '{}' and '{}'", op, type_name(a),
                    type_name(b));
}

Error overflow() { return python_error("OverflowError", "integer too large (more than 64 bits)"); }

using Exact = bool (*)(int64_t a, int64_t b, int64_t* result);  // false when it does not fit

Result<Value> checked(Exact op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (!op(a, b, &result)) return overflow();
  return Value::integer(result);
}

bool add_exact(int64_t a, int64_t b, int64_t* r) { return !__builtin_add_overflow(a, b, r); }
bool sub_exact(int64_t a, int64_t b, int64_t* r) { return !__builtin_sub_overflow(a, b, r); }
bool mul_exact(int64_t a, int64_t b, int64_t* r) { return !__builtin_mul_overflow(a, b, r); }

int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

double float_mod(double a, double b) {
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(0.0, b) : r;
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0)
      return python_error("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  for (bool overflowed = false; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) overflowed |= __builtin_mul_overflow(result, base, &result);
    if (overflowed) return overflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

Result<Value> integer_op(std::string_view op, int64_t a, int64_t b) {
  if (op == "+") return checked(add_exact, a, b);
  if (op == "-") return checked(sub_exact, a, b);
  if (op == "*") return checked(mul_exact, a, b);
  if (op == "**") return integer_power(a, b);
  if (b == 0) {
    return python_error("ZeroDivisionError", "{}",
                        op == "/" ? "division by zero" : "integer division or modulo by zero");
  }
  if (op == "/") return Value::real(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) {  // the one quotient that does not fit
    if (op == "%") return Value::integer(0);
    return checked(sub_exact, 0, a);
  }
  return Value::integer(op == "//" ? floor_div(a, b) : a - floor_div(a, b) * b);
}

Result<Value> float_op(std::string_view op, double a, double b) {
  if (op == "+") return Value::real(a + b);
  if (op == "-") return Value::real(a - b);
  if (op == "*") return Value::real(a * b);
  if (op == "**") {
    if (a == 0 && b < 0)
      return python_error("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    double r = std::pow(a, b);
    if (std::isnan(r) && !std::isnan(a) && !std::isnan(b)) {
      return python_error("TypeError", "complex numbers are not supported");
    }
    if (std::isinf(r) && std::isfinite(a) && std::isfinite(b)) {
      return python_error("OverflowError", "(34, 'Numerical result out of range')");
    }
    return Value::real(r);
  }
  if (b == 0) {
    return python_error("ZeroDivisionError", "{}",
                        op == "/"    ? "float division by zero"
                        : op == "//" ? "float floor division by zero"
                                     : "float modulo");
  }
  if (op == "/") return Value::real(a / b);
  if (op == "%") return Value::real(float_mod(a, b));
  return Value::real(std::floor((a - float_mod(a, b)) / b + 0.5));
}

Result<Value> repeat(Interpreter& interpreter, const Value& sequence, int64_t times) {
  times = std::max<int64_t>(times, 0);
  auto n = static_cast<size_t>(times);
  if (sequence.is_string()) {
    const Text& text = sequence.text();
    if (!text.empty() && n > interpreter.limits().max_bytes / text.size()) {
      return make_error(ErrorCode::kResourceExhausted,
                        "the template repeats a text to more than {} bytes",
                        interpreter.limits().max_bytes);
    }
    Text out;
    out.set_markup(text.markup());
    if (!text.empty()) {
      for (size_t i = 0; i < n; ++i) out.append(text);
    }
    return interpreter.make_text(std::move(out));
  }
  const Items& items = sequence.items();
  if (!items.empty() && n > interpreter.limits().max_items / items.size()) {
    return make_error(ErrorCode::kResourceExhausted,
                      "the template repeats a list to more than {} items",
                      interpreter.limits().max_items);
  }
  Items out;
  if (!items.empty()) {
    for (size_t i = 0; i < n; ++i) out.insert(out.end(), items.begin(), items.end());
  }
  return interpreter.make_list(std::move(out), sequence.type());
}

Result<Value> add(Interpreter& interpreter, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) {
    bool markup = a.text().markup() || b.text().markup();
    Text out;
    out.append(markup ? escape_html(a.text()) : a.text());
    out.append(markup ? escape_html(b.text()) : b.text());
    out.set_markup(markup);
    return interpreter.make_text(std::move(out));
  }
  if (a.is_sequence() && a.type() == b.type()) {
    Items out = a.items();
    out.insert(out.end(), b.items().begin(), b.items().end());
    return interpreter.make_list(std::move(out), a.type());
  }
  if (a.is_string() || a.is_sequence()) {
    std::string name = type_name(a);
    return type_error("can only concatenate {} (not \"{}\") to {}", name, type_name(b), name);
  }
  return unsupported("+", a, b);
}

}  // namespace

Result<Value> binary_op(Interpreter& interpreter, std::string_view op, const Value& a,
                        const Value& b) {
  if (op == "%" && a.is_string()) return percent_format(interpreter, a.text(), b);
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_intlike() && b.is_intlike()) return integer_op(op, a.as_int(), b.as_int());
    return float_op(op, a.as_double(), b.as_double());
  }
  if (op == "+") return add(interpreter, a, b);
  if (op == "*") {
    bool a_repeats = a.is_string() || a.is_sequence(), b_repeats = b.is_string() || b.is_sequence();
    if (a_repeats && b.is_intlike()) return repeat(interpreter, a, b.as_int());
    if (b_repeats && a.is_intlike()) return repeat(interpreter, b, a.as_int());
    if (a_repeats)
      return type_error("can't multiply sequence by non-int of type '{}'", type_name(b));
    if (b_repeats)
      return type_error("can't multiply sequence by non-int of type '{}'", type_name(a));
  }
  return unsupported(op, a, b);
}

}  // namespace tempo9::chat::jinja
