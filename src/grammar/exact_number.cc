#include "grammar/exact_number.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "grammar/growing_json.h"

namespace tempo9::grammar {
namespace {

// Of an integer that is no float.
std::string integer_digits(const Json& integer) {
  if (!is_long_integer(integer)) return integer.dump();
  const Json::binary_t& digits = integer.get_binary();
  return {digits.begin(), digits.end()};
}

int compare_digits(std::string_view a, std::string_view b) {
  const bool a_below = a.starts_with('-'), b_below = b.starts_with('-');
  if (a_below != b_below) return a_below ? -1 : 1;
  const int order = a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
  return a_below ? -order : order;
}

// |digits| mod of.
uint64_t rest_of(std::string_view digits, uint64_t of) {
  uint64_t rest = 0;
  for (const char c : digits) {
    if (c == '-') continue;
    // rest * 10 + digit, which may not fit, in ten steps that do.
    uint64_t sum = 0;
    const auto add = [&](uint64_t v) { sum = sum >= of - v ? sum - (of - v) : sum + v; };
    for (int i = 0; i < 10; ++i) add(rest);
    add(static_cast<uint64_t>(c - '0') % of);
    rest = sum;
  }
  return rest;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Json plain;
  try {
    plain = Json::parse(text);
  } catch (const Json::exception& error) {
    return make_error(ErrorCode::kInvalidArgument, "#: found no JSON: {}", error.what());
  }
  GrowingJson exact;
  return exact.add(text) && exact.finish() && exact.is_whole() ? exact.value() : plain;
}

Json exact_number(std::string_view text, Json read) {
  const bool has_digits_only = text.find_first_not_of("-0123456789") == std::string_view::npos;
  if (read.is_number_float() && has_digits_only)
    return Json::binary(std::vector<uint8_t>(text.begin(), text.end()));
  return read;
}

bool is_long_integer(const Json& value) { return value.is_binary(); }

bool is_number(const Json& value) { return value.is_number() || is_long_integer(value); }

bool is_integer(const Json& value) {
  if (value.is_number_integer() || is_long_integer(value)) return true;
  return value.is_number_float() && std::floor(value.get<double>()) == value.get<double>();
}

std::string number_text(const Json& number) {
  if (is_long_integer(number)) return integer_digits(number);
  if (number.is_number_float()) {
    const auto value = number.get<double>();
    if (std::abs(value) < 1e18 && value == std::floor(value))
      return std::to_string(static_cast<int64_t>(value));
  }
  return number.dump();
}

long double as_real(const Json& number) {
  if (!is_long_integer(number)) return number.get<long double>();
  return std::strtold(integer_digits(number).c_str(), nullptr);
}

int64_t as_int64(const Json& number) {
  if (number.is_number_unsigned())
    return static_cast<int64_t>(std::min<uint64_t>(number.get<uint64_t>(), INT64_MAX));
  if (number.is_number_integer()) return number.get<int64_t>();
  const long double value = std::floor(as_real(number));
  if (value >= 0x1p63L) return INT64_MAX;
  return value <= -0x1p63L ? INT64_MIN : static_cast<int64_t>(value);
}

int compare_numbers(const Json& a, const Json& b) {
  const auto in_range = [](const Json& v) {
    return v.is_number_integer() &&
           (!v.is_number_unsigned() || v.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  };
  if (in_range(a) && in_range(b)) {
    const auto x = a.get<int64_t>(), y = b.get<int64_t>();
    return x < y ? -1 : x > y;
  }
  if (!a.is_number_float() && !b.is_number_float())
    return compare_digits(integer_digits(a), integer_digits(b));
  const long double x = as_real(a), y = as_real(b);
  // What a float is near to is all that it says.
  if (is_long_integer(a) || is_long_integer(b)) {
    const auto p = static_cast<double>(x), q = static_cast<double>(y);
    return p < q ? -1 : p > q;
  }
  return x < y ? -1 : x > y;
}

bool is_multiple(const Json& value, const Json& of) {
  if (!value.is_number_float() && of.is_number_integer())
    return rest_of(integer_digits(value), of.get<uint64_t>()) == 0;
  const long double x = as_real(value), m = as_real(of);
  if (!std::isfinite(x)) return false;
  if (std::fmod(x, m) == 0.0L) return true;
  const auto is_whole = [](long double v) {
    return std::abs(v - std::round(v)) <= 1e-12L * std::max(1.0L, std::abs(v));
  };
  // Every integer is a multiple of 0.01.
  if (is_integer(value) && m < 1 && is_whole(1 / m)) return true;
  const long double quotient = x / m;
  if (std::abs(quotient) > 0x1p52L) return false;
  // Decimal fractions have no exact binary form: 0.0075 is a multiple of 0.0001.
  return is_whole(quotient);
}

}  // namespace tempo9::grammar
