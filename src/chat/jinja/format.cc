// "%s" % x and "{}".format(x).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "chat/jinja/args.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/markup.h"
#include "chat/jinja/number_format.h"
#include "chat/jinja/print.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {
namespace {

Status check_width(int64_t width) {
  constexpr int64_t kMaxWidth = 100'000;
  if (width > kMaxWidth) {
    return make_error(ErrorCode::kResourceExhausted,
                      "a format pads to {} characters; the limit is {}", width, kMaxWidth);
  }
  return {};
}

void append_padded(const Text& body, const FormatSpec& spec, char default_align, Text* out) {
  auto n = static_cast<int64_t>(count_chars(body.view()));
  int64_t missing = std::max<int64_t>(spec.width - n, 0);
  char align = spec.align != '\0' ? spec.align : default_align;
  int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  auto pad = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) out->append(spec.fill, false);
  };
  pad(left);
  out->append(body);
  pad(missing - left);
}

// ---- percent

class PercentFormatter {
 public:
  PercentFormatter(const Text& format, const Value& args) : f_(format), args_(args) {}

  Result<Text> run() {
    std::string_view s = f_.view();
    while (at_ < s.size()) {
      size_t percent = s.find('%', at_);
      if (percent == std::string_view::npos) percent = s.size();
      out_.append_slice(f_, at_, percent);
      at_ = percent + 1;
      if (percent < s.size()) T9_TRY(directive());
    }
    bool all_used =
        used_mapping_ || (args_.is(Type::kTuple) ? next_ >= args_.items().size() : next_ > 0);
    // Whatever has an item access counts as a mapping, whose parts need not all be used.
    bool mapping = args_.is(Type::kDict) || args_.is(Type::kList) || args_.is(Type::kRange) ||
                   args_.is_undefined();
    if (!all_used && !mapping) {
      return type_error("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  Result<Value> next_argument() {
    if (args_.is(Type::kTuple)) {
      if (next_ < args_.items().size()) return args_.items()[next_++];
    } else if (next_++ == 0) {
      return args_;
    }
    return type_error("not enough arguments for format string");
  }

  Result<Value> keyed_argument() {
    std::string_view s = f_.view();
    size_t close = s.find(')', at_);
    if (close == std::string_view::npos) return value_error("incomplete format key");
    if (!args_.is(Type::kDict)) return type_error("format requires a mapping");
    std::string_view key = s.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    used_mapping_ = true;
    const Value* v = args_.get<Dict>().find(key);
    if (v == nullptr) return python_error("KeyError", "'{}'", key);
    return *v;
  }

  Result<int64_t> number() {
    std::string_view s = f_.view();
    if (at_ < s.size() && s[at_] == '*') {
      ++at_;
      T9_TRY(Value v, next_argument());
      if (!v.is_intlike()) return type_error("* wants int");
      return v.as_int();
    }
    int64_t n = 0;
    for (; at_ < s.size() && s[at_] >= '0' && s[at_] <= '9'; ++at_) {
      n = std::min<int64_t>(n * 10 + (s[at_] - '0'), 1'000'000'000);
    }
    return n;
  }

  Status directive() {
    std::string_view s = f_.view();
    std::optional<Value> value;
    if (at_ < s.size() && s[at_] == '(') {
      T9_TRY(value, keyed_argument());
    }
    FormatSpec spec;
    for (; at_ < s.size(); ++at_) {
      char c = s[at_];
      if (c == '-')
        spec.align = '<';
      else if (c == '+')
        spec.sign = '+';
      else if (c == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (c == '#')
        spec.alternate = true;
      else if (c == '0')
        spec.zero = true;
      else
        break;
    }
    T9_TRY(spec.width, number());
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    T9_TRY(check_width(spec.width));
    if (at_ < s.size() && s[at_] == '.') {
      ++at_;
      T9_TRY(spec.precision, number());
      T9_TRY(check_width(spec.precision));
    }
    while (at_ < s.size() && (s[at_] == 'l' || s[at_] == 'h' || s[at_] == 'L')) ++at_;
    if (at_ >= s.size()) return value_error("incomplete format");
    char type = s[at_++];
    if (type == '%') {
      out_.append("%", false);
      return {};
    }
    if (!value) {
      T9_TRY(value, next_argument());
    }
    return convert(type, *value, spec);
  }

  Status convert(char type, const Value& v, FormatSpec spec) {
    if (type == 's' || type == 'r' || type == 'a') {
      Text text = type == 's' ? python_str(v) : python_repr(v);
      if (f_.markup()) text = escape_html(text);
      if (spec.precision >= 0) text = first_chars(text, spec.precision);
      append_padded(text, spec, '>', &out_);
      return {};
    }
    if (type == 'c') {
      Text text;
      if (v.is_intlike() && v.as_int() >= 0 && v.as_int() <= 0x10FFFF) {
        std::string c;
        append_utf8(static_cast<char32_t>(v.as_int()), &c);
        text.append(c, false);
      } else if (v.is_string() && count_chars(v.text().view()) == 1) {
        text = v.text();
      } else {
        return type_error("%c requires int or char");
      }
      append_padded(text, spec, '>', &out_);
      return {};
    }
    if (v.is_undefined()) return undefined_error(v);
    constexpr std::string_view kTypes = "diuxXoeEfFgG";
    if (kTypes.find(type) == std::string_view::npos) {
      return value_error("unsupported format character '{}' ({:#x}) at index {}", type,
                         static_cast<int>(type), at_ - 1);
    }
    if (!v.is_number()) {
      bool whole =
          type == 'd' || type == 'i' || type == 'u' || type == 'x' || type == 'X' || type == 'o';
      if (!whole) return type_error("must be real number, not {}", type_name(v));
      return type_error("%{} format: {} is required, not {}", type,
                        type == 'd' || type == 'i' || type == 'u' ? "a real number" : "an integer",
                        type_name(v));
    }
    spec.type = type == 'i' || type == 'u' ? 'd' : type;
    Value number = v;
    if (spec.type == 'd' && v.is(Type::kFloat))
      number = Value::integer(static_cast<int64_t>(v.as_double()));
    if ((spec.type == 'x' || spec.type == 'X' || spec.type == 'o') && v.is(Type::kFloat)) {
      return type_error("%{} format: an integer is required, not float", type);
    }
    if (number.is(Type::kBool)) number = Value::integer(number.as_int());
    if (spec.align == '<') spec.zero = false;
    T9_TRY(std::string text, format_number(number, spec));
    append_padded(Text(std::move(text)), spec, '>', &out_);
    return {};
  }

  const Text& f_;
  const Value& args_;
  Text out_;
  size_t at_ = 0;
  size_t next_ = 0;
  bool used_mapping_ = false;
};

// ---- braces

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, const Args& args, bool escapes)
      : interpreter_(interpreter), args_(args), escapes_(escapes) {}

  Result<Text> run(const Text& format, int depth) {
    if (depth > 2) return value_error("Max string recursion exceeded");
    Text out;
    std::string_view s = format.view();
    for (size_t at = 0; at < s.size();) {
      size_t brace = s.find_first_of("{}", at);
      if (brace == std::string_view::npos) brace = s.size();
      out.append_slice(format, at, brace);
      at = brace;
      if (at == s.size()) break;
      if (at + 1 < s.size() && s[at + 1] == s[at]) {
        out.append_slice(format, at, at + 1);
        at += 2;
        continue;
      }
      if (s[at] == '}') return value_error("Single '}}' encountered in format string");
      size_t end = field_end(s, at + 1);
      if (end == std::string_view::npos) {
        return value_error("{}", at + 1 == s.size() ? "Single '{' encountered in format string"
                                                    : "expected '}' before end of string");
      }
      T9_TRY(field(format.slice(at + 1, end), depth, &out));
      at = end + 1;
    }
    return out;
  }

 private:
  static size_t field_end(std::string_view s, size_t at) {
    int open = 1;
    for (; at < s.size(); ++at) {
      if (s[at] == '{') ++open;
      if (s[at] == '}' && --open == 0) return at;
    }
    return std::string_view::npos;
  }

  Status field(const Text& field, int depth, Text* out) {
    std::string_view s = field.view();
    size_t colon = std::string_view::npos, bang = std::string_view::npos;
    int brackets = 0;
    for (size_t i = 0; i < s.size() && colon == std::string_view::npos; ++i) {
      if (s[i] == '[') ++brackets;
      if (s[i] == ']') --brackets;
      if (brackets > 0) continue;
      if (s[i] == '!' && bang == std::string_view::npos) bang = i;
      if (s[i] == ':') colon = i;
    }
    size_t name_end = std::min({bang, colon, s.size()});
    T9_TRY(Value v, lookup(s.substr(0, name_end)));
    if (bang != std::string_view::npos && bang < std::min(colon, s.size())) {
      char kind = bang + 1 < s.size() ? s[bang + 1] : '\0';
      if (kind == 'r' || kind == 'a')
        v = Value::string(python_repr(v));
      else if (kind == 's')
        v = Value::string(python_str(v));
      else
        return value_error("Unknown conversion specifier {}", kind);
    }
    if (escapes_) v = Value::string(escape_html(python_str(v)));
    Text spec_text = colon == std::string_view::npos ? Text() : field.slice(colon + 1, s.size());
    T9_TRY(Text spec, run(spec_text, depth + 1));
    return format_value(v, spec.view(), out);
  }

  Result<Value> first(std::string_view name) {
    bool digits = !name.empty() && std::all_of(name.begin(), name.end(),
                                               [](char c) { return c >= '0' && c <= '9'; });
    if (name.empty() || digits) {
      if (name.empty() ? manual_ : automatic_) {
        return value_error("cannot switch from {}",
                           name.empty()
                               ? "manual field specification to automatic field numbering"
                               : "automatic field numbering to manual field specification");
      }
      (name.empty() ? automatic_ : manual_) = true;
      size_t index = name.empty() ? next_++ : 0;
      if (!name.empty()) std::from_chars(name.data(), name.data() + name.size(), index);
      if (index >= args_.positional.size()) {
        return python_error("IndexError",
                            "Replacement index {} out of range for positional args tuple", index);
      }
      return args_.positional[index];
    }
    for (const auto& [key, value] : args_.keyword) {
      if (key == name) return value;
    }
    return python_error("KeyError", "'{}'", name);
  }

  // "0.name[key]"
  Result<Value> lookup(std::string_view path) {
    size_t end = std::min(path.find_first_of(".["), path.size());
    T9_TRY(Value v, first(path.substr(0, end)));
    while (end < path.size()) {
      if (path[end] == '.') {
        size_t stop = std::min(path.find_first_of(".[", end + 1), path.size());
        T9_TRY(v, interpreter_.get_attribute(v, path.substr(end + 1, stop - end - 1)));
        end = stop;
        continue;
      }
      size_t close = path.find(']', end);
      if (path[end] != '[' || close == std::string_view::npos)
        return value_error("Missing ']' in format string");
      std::string_view key = path.substr(end + 1, close - end - 1);
      int64_t index = 0;
      auto [last, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      bool is_index = error == std::errc() && last == key.data() + key.size() && key[0] != '-';
      T9_TRY(v, interpreter_.get_item(v, is_index ? Value::integer(index) : Value::string(key)));
      end = close + 1;
    }
    return v;
  }

  Status format_value(const Value& v, std::string_view spec_text, Text* out) {
    if (spec_text.empty()) {
      out->append(python_str(v));
      return {};
    }
    if (!v.is_string() && !v.is_number()) {
      return type_error("unsupported format string passed to {}.__format__", type_name(v));
    }
    T9_TRY(FormatSpec spec, parse_format_spec(spec_text));
    T9_TRY(check_width(std::max(spec.width, spec.precision)));
    if (v.is_string()) {
      if (spec.type != '\0' && spec.type != 's') {
        return value_error("Unknown format code '{}' for object of type 'str'", spec.type);
      }
      Text text = spec.precision >= 0 ? first_chars(v.text(), spec.precision) : v.text();
      if (spec.zero && spec.align == '\0') spec.fill.assign(1, '0');
      append_padded(text, spec, '<', out);
      return {};
    }
    T9_TRY(std::string text, format_number(v, spec));
    append_padded(Text(std::move(text)), spec, '>', out);
    return {};
  }

  Interpreter& interpreter_;
  const Args& args_;
  bool escapes_;  // the format is markup, so what goes in is escaped
  size_t next_ = 0;
  bool manual_ = false, automatic_ = false;
};

}  // namespace

Result<Value> percent_format(Interpreter& interpreter, const Text& format, const Value& args) {
  T9_TRY(interpreter.charge(args.weight()));
  T9_TRY(Text text, PercentFormatter(format, args).run());
  text.set_markup(format.markup());
  return interpreter.make_text(std::move(text));
}

Result<Value> brace_format(Interpreter& interpreter, const Text& format, const Args& args) {
  for (const Value& v : args.positional) T9_TRY(interpreter.charge(v.weight()));
  T9_TRY(Text text, BraceFormatter(interpreter, args, format.markup()).run(format, 0));
  text.set_markup(format.markup());
  return interpreter.make_text(std::move(text));
}

}  // namespace tempo9::chat::jinja
