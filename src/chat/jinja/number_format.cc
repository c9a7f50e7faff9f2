#include "chat/jinja/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "chat/jinja/print.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

Result<FormatSpec> parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t at = 0;
  auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  size_t first = text.empty() ? 0 : decode_utf8(text, 0).n_bytes;
  if (text.size() > first && is_align(text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    at = 1;
  }
  auto take = [&](std::string_view set) -> char {
    return at < text.size() && set.find(text[at]) != std::string_view::npos ? text[at++] : '\0';
  };
  auto number = [&](int64_t otherwise) {
    if (at >= text.size() || text[at] < '0' || text[at] > '9') return otherwise;
    int64_t n = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      n = std::min<int64_t>(n * 10 + (text[at] - '0'), 1'000'000'000);
    }
    return n;
  };
  if (char sign = take("+- "); sign != '\0') spec.sign = sign;
  spec.alternate = take("#") != '\0';
  spec.zero = take("0") != '\0';
  spec.width = number(0);
  spec.grouping = take(",_");
  if (take(".") != '\0') {
    spec.precision = number(-1);
    if (spec.precision < 0) return value_error("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) return value_error("Invalid format specifier '{}'", text);
  return spec;
}

namespace {

std::string printf_double(char type, bool alternate, int64_t precision, double d) {
  char format[8] = "%";
  size_t n = 1;
  if (alternate) format[n++] = '#';
  format[n++] = '.';
  format[n++] = '*';
  format[n++] = type;
  format[n] = '\0';
  int size = std::snprintf(nullptr, 0, format, static_cast<int>(precision), d);
  std::string out(static_cast<size_t>(size), '\0');
  std::snprintf(out.data(), out.size() + 1, format, static_cast<int>(precision), d);
  return out;
}

// The digits of a finite or special value without its sign.
Result<std::string> float_digits(double d, const FormatSpec& spec) {
  d = std::fabs(d);
  char type = spec.type;
  if (!std::isfinite(d)) {
    bool upper = type == 'F' || type == 'E' || type == 'G';
    return std::string(std::isnan(d) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
  }
  switch (type) {
    case '\0':
      if (spec.precision < 0) return format_float(d);
      {
        std::string out =
            printf_double('g', spec.alternate, std::max<int64_t>(spec.precision, 1), d);
        bool plain = out.find_first_of(".e") == std::string::npos;
        return plain ? out + ".0" : out;
      }
    case '%':
      return printf_double('f', spec.alternate, spec.precision < 0 ? 6 : spec.precision, d * 100) +
             "%";
    case 'n':
      type = 'g';
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      break;
    default:
      return value_error("Unknown format code '{}' for object of type 'float'", type);
  }
  int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if ((type == 'g' || type == 'G') && precision == 0) precision = 1;
  return printf_double(type, spec.alternate, precision, d);
}

Result<std::string> integer_digits(int64_t i, const FormatSpec& spec) {
  int base = 10;
  std::string prefix;
  switch (spec.type) {
    case '\0':
    case 'd':
    case 'n':
      break;
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'x':
      base = 16;
      prefix = "0x";
      break;
    case 'X':
      base = 16;
      prefix = "0X";
      break;
    default:
      return value_error("Unknown format code '{}' for object of type 'int'", spec.type);
  }
  uint64_t magnitude = i < 0 ? ~static_cast<uint64_t>(i) + 1 : static_cast<uint64_t>(i);
  char buffer[72];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), magnitude, base).ptr;
  std::string digits(buffer, end);
  if (spec.type == 'X')
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
  if (spec.precision > static_cast<int64_t>(digits.size())) {
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  }
  return (spec.alternate ? prefix : "") + digits;
}

void group(std::string* digits, char mark, size_t every) {
  size_t end = digits->find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits->size();
  for (size_t i = end; i > every; i -= every) digits->insert(i - every, 1, mark);
}

}  // namespace

Result<std::string> format_number(const Value& v, const FormatSpec& spec) {
  constexpr std::string_view kFloatTypes = "eEfFgG%";
  bool as_float = v.is(Type::kFloat) ||
                  (spec.type != '\0' && kFloatTypes.find(spec.type) != std::string_view::npos);
  bool negative = v.is(Type::kFloat) ? std::signbit(v.as_double()) && !std::isnan(v.as_double())
                                     : v.as_int() < 0;
  std::string digits;
  if (v.is(Type::kBool) && spec.type == '\0') {
    digits = std::to_string(v.as_int());
  } else {
    T9_TRY(digits, as_float ? float_digits(v.as_double(), spec) : integer_digits(v.as_int(), spec));
  }
  if (spec.grouping != '\0')
    group(&digits, spec.grouping,
          spec.type == 'x' || spec.type == 'X' || spec.type == 'b' || spec.type == 'o' ? 4 : 3);
  std::string sign = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  bool zero_pad = spec.align == '=' || (spec.zero && spec.align == '\0');
  if (zero_pad) {
    std::string fill = spec.align == '=' && !spec.zero ? spec.fill : "0";
    for (auto n = static_cast<int64_t>(sign.size() + digits.size()); n < spec.width; ++n)
      sign += fill;
  }
  return sign + digits;
}

}  // namespace tempo9::chat::jinja
