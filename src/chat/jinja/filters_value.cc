// Filters on single values: numbers, defaults, JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/number_format.h"
#include "chat/jinja/print.h"
#include "chat/jinja/text_ops.h"

namespace tempo9::chat::jinja {
namespace {

Result<Value> default_filter(I&, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("default", args, {"default_value", "boolean"}));
  bool replaces = v.is_undefined() || (b.flag(1) && !truthy(v));
  if (!replaces) return v;
  return b.has(0) ? b[0] : Value::string("");
}

Result<Value> abs_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("abs", args, {}));
  if (!v.is_number()) return type_error("bad operand type for abs(): '{}'", type_name(v));
  if (v.is(Type::kFloat)) return Value::real(std::fabs(v.as_double()));
  return v.as_int() < 0 ? binary_op(in, "*", v, Value::integer(-1))
                        : Result<Value>(Value::integer(v.as_int()));
}

// Underscores may stand between digits; nowhere else. False when one is misplaced.
bool drop_underscores(std::string* s) {
  auto digit = [&](size_t i) {
    return i < s->size() && std::isalnum(static_cast<unsigned char>((*s)[i])) != 0;
  };
  for (size_t i = 0; i < s->size(); ++i) {
    if ((*s)[i] == '_' && (i == 0 || !digit(i - 1) || !digit(i + 1))) return false;
  }
  std::erase(*s, '_');
  return true;
}

std::optional<double> parse_float(const Text& text) {
  std::string s = strip(text, Side::kBoth, nullptr).bytes();
  if (!drop_underscores(&s)) return std::nullopt;
  std::string_view digits = s;
  bool negative = !digits.empty() && digits[0] == '-';
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  double d = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), d);
  if (end != digits.data() + digits.size() || digits.find('(') != std::string_view::npos)
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    d = digits.find("e-") != std::string_view::npos ? 0.0 : HUGE_VAL;
  else if (error != std::errc())
    return std::nullopt;
  return negative ? -d : d;
}

std::optional<int64_t> parse_int(const Text& text, int64_t base) {
  std::string s = strip(text, Side::kBoth, nullptr).bytes();
  if (base < 0 || base == 1 || base > 36) return std::nullopt;
  bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.erase(0, 1);
  auto prefixed = [&](char low) { return s.size() > 2 && s[0] == '0' && (s[1] | 0x20) == low; };
  int implied = prefixed('x') ? 16 : prefixed('o') ? 8 : prefixed('b') ? 2 : 0;
  if (implied != 0 && (base == 0 || base == implied)) {
    s.erase(0, 2);
    base = implied;
  } else if (base == 0) {
    base = 10;
  }
  if (!drop_underscores(&s) || s.empty() || s[0] == '-' || s[0] == '+') return std::nullopt;
  if (negative) s.insert(0, 1, '-');
  int64_t i = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), i, static_cast<int>(base));
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return i;
}

Result<Value> truncated(double d, const Value& otherwise, bool from_text) {
  if (std::isfinite(d)) {
    if (std::fabs(d) >= 9.2e18)
      return python_error("OverflowError", "integer too large (more than 64 bits)");
    return Value::integer(static_cast<int64_t>(d));
  }
  if (from_text || std::isnan(d)) return otherwise;
  return python_error("OverflowError", "cannot convert float infinity to integer");
}

Result<Value> int_filter(I&, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("int", args, {"default", "base"}));
  Value otherwise = b.has(0) ? b[0] : Value::integer(0);
  T9_TRY(int64_t base, b.integer(1, 10));
  if (v.is_undefined()) return undefined_error(v);
  if (v.is_intlike()) return Value::integer(v.as_int());
  if (v.is(Type::kFloat)) return truncated(v.as_double(), otherwise, false);
  if (!v.is_string()) return otherwise;
  if (std::optional<int64_t> i = parse_int(v.text(), base)) return Value::integer(*i);
  if (std::optional<double> d = parse_float(v.text())) return truncated(*d, otherwise, true);
  return otherwise;
}

Result<Value> float_filter(I&, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("float", args, {"default"}));
  if (v.is_undefined()) return undefined_error(v);
  if (v.is_number()) return Value::real(v.as_double());
  if (v.is_string()) {
    if (std::optional<double> d = parse_float(v.text())) return Value::real(*d);
  }
  return b.has(0) ? b[0] : Value::real(0);
}

// Nearest, halves to even: exact on the binary value, through its decimal expansion.
double round_to(double d, int64_t precision) {
  if (!std::isfinite(d) || precision > 300) return d;
  if (precision < -308) return std::copysign(0.0, d);
  if (precision < 0) {
    double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(d / scale) * scale;
  }
  return std::strtod(fmt::format("{:.{}f}", d, precision).c_str(), nullptr);
}

int64_t round_integer(int64_t i, int64_t precision) {
  if (precision >= 0) return i;
  if (precision < -18) return 0;
  int64_t scale = 1;
  for (int64_t p = precision; p < 0; ++p) scale *= 10;
  int64_t quotient = i / scale, rest = i % scale, half = scale / 2;
  int64_t magnitude = rest < 0 ? -rest : rest;
  if (magnitude > half || (magnitude == half && (quotient & 1) != 0)) quotient += i < 0 ? -1 : 1;
  return quotient * scale;
}

Result<Value> round_filter(I&, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("round", args, {"precision", "method"}));
  T9_TRY(int64_t precision, b.integer(0, 0));
  std::string method = b.has(1) ? python_str(b[1]).bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    return template_error("method must be common, ceil or floor");
  }
  if (v.is_undefined() && method != "common") return undefined_error(v);
  if (!v.is_number()) return type_error("type {} doesn't define __round__ method", type_name(v));
  if (method == "common") {
    if (v.is(Type::kFloat)) return Value::real(round_to(v.as_double(), precision));
    return Value::integer(round_integer(v.as_int(), precision));
  }
  double scale = std::pow(10.0, static_cast<double>(precision));
  double scaled = v.as_double() * scale;
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> filesizeformat(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("filesizeformat", args, {"binary"}));
  bool binary = b.flag(0);
  std::optional<double> bytes;
  if (v.is_number()) bytes = v.as_double();
  if (v.is_string()) bytes = parse_float(v.text());
  if (v.is_undefined()) return undefined_error(v);
  if (!bytes) return value_error("could not convert to float: {}", python_repr(v).bytes());
  double base = binary ? 1024 : 1000;
  if (*bytes == 1) return Value::string("1 Byte");
  if (*bytes < base)
    return in.make_text(Text(fmt::format("{} Bytes", static_cast<int64_t>(*bytes))));
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  for (size_t i = 0;; ++i) {
    unit *= base;
    if (*bytes < unit || i + 1 == kPrefixes.size()) {
      char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
      return in.make_text(
          Text(fmt::format("{:.1f} {}{}", base * *bytes / unit, prefix, binary ? "iB" : "B")));
    }
  }
}

Result<Value> attr(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("attr", args, {"name"}, 1));
  T9_TRY(const Text* name, need_string(b[0]));
  // Items are not attributes here, unlike for a dot.
  if (v.is_undefined()) return undefined_error(v);
  if (!is_unsafe_attribute(v, name->view())) {
    T9_TRY(std::optional<Value> found, special_attribute(v, name->view()));
    if (!found) return Value::undefined_member(v, b[0]);
  }
  return in.get_attribute(v, name->view());
}

Result<Value> tojson(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ensure_ascii = b.flag(0);
  style.sort_keys = b.flag(3);
  if (b.some(1)) {
    style.indented = true;
    style.item_separator = Text(",");
    if (b[1].is_string()) {
      style.indent = b[1].text();
    } else {
      T9_TRY(int64_t width, need_integer(b[1]));
      style.indent =
          Text(std::string(static_cast<size_t>(std::clamp<int64_t>(width, 0, 1000)), ' '));
    }
  }
  if (b.some(2)) {
    T9_TRY(Items pair, in.items_of(b[2]));
    if (pair.size() != 2)
      return value_error("tojson: separators must be a pair, not {} items", pair.size());
    T9_TRY(const Text* item, need_string(pair[0]));
    T9_TRY(const Text* key, need_string(pair[1]));
    style.item_separator = *item;
    style.key_separator = *key;
  }
  T9_TRY(in.charge(v.weight()));
  T9_TRY(Text text, json_dumps(v, style, in.limits().max_bytes));
  return in.make_text(std::move(text));
}

constexpr FilterEntry kValueFilters[] = {
    {"default", default_filter},
    {"d", default_filter},
    {"abs", abs_filter},
    {"int", int_filter},
    {"float", float_filter},
    {"round", round_filter},
    {"attr", attr},
    {"filesizeformat", filesizeformat},
    {"tojson", tojson},
};

}  // namespace

Table<FilterEntry> value_filters() { return {kValueFilters, std::size(kValueFilters)}; }

}  // namespace tempo9::chat::jinja
