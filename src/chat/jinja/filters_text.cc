// Filters on text.
#include <algorithm>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/print.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/wrap.h"

namespace tempo9::chat::jinja {
namespace {

template <Case to>
Result<Value> case_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(bind(to == Case::kUpper ? "upper" : "lower", args, {}));
  return in.make_text(to_case(python_str(v), to));
}

Result<Value> capitalize_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("capitalize", args, {}));
  return in.make_text(capitalize(python_str(v)));
}

// Capitals behind white space and - ( { [ <, not behind other signs as in str.title().
Result<Value> title(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("title", args, {}));
  Text text = python_str(v);
  Text out;
  auto is_break = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    bool breaking = is_break(decode_utf8(text.view(), at).c);
    size_t first = decode_utf8(text.view(), at).n_bytes;
    while (end < text.size()) {
      auto [c, n] = decode_utf8(text.view(), end);
      if (is_break(c) != breaking) break;
      end += n;
    }
    out.append(to_case(text.slice(at, at + first), Case::kUpper));
    out.append(to_case(text.slice(at + first, end), Case::kLower));
    at = end;
  }
  return in.make_text(std::move(out));
}

Result<Value> trim(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("trim", args, {"chars"}));
  const Text* chars = nullptr;
  if (b.some(0)) {
    T9_TRY(chars, need_string(b[0]));
  }
  return in.make_text(strip(python_str(v), Side::kBoth, chars));
}

Result<Value> replace_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("replace", args, {"old", "new", "count"}, 2));
  T9_TRY(int64_t count, b.some(2) ? need_integer(b[2]) : Result<int64_t>(-1));
  Text text = python_str(v);
  text.set_markup(false);
  return replace_text(in, text, python_str(b[0]), python_str(b[1]), count);
}

Result<Value> center(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("center", args, {"width"}));
  T9_TRY(int64_t width, b.integer(0, 80));
  Text text = python_str(v);
  int64_t missing = std::max<int64_t>(width - static_cast<int64_t>(count_chars(text.view())), 0);
  T9_TRY(in.charge_text(static_cast<size_t>(missing) + text.size()));
  int64_t left = missing / 2 + (missing & width & 1);
  return in.make_text(padded(text, left, missing - left, Text(" ")));
}

// What the filters ask for that work on the string itself and not on str(value).
Result<Text> text_of(const Value& v) {
  if (v.is_undefined()) return undefined_error(v);
  if (v.is(Type::kList))
    return python_error("AttributeError", "'list' object has no attribute 'splitlines'");
  T9_TRY(const Text* text, need_string(v));
  return *text;
}

Result<Value> indent(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("indent", args, {"width", "first", "blank"}));
  T9_TRY(Text text, text_of(v));
  Text indention;
  if (b.has(0) && b[0].is_string()) {
    indention = b[0].text();
  } else {
    T9_TRY(int64_t width, b.integer(0, 4));
    T9_TRY(in.charge_text(static_cast<size_t>(std::max<int64_t>(width, 0))));
    indention.append(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), false);
  }
  bool blank = b.flag(2);
  text.append("\n", false);
  std::vector<Text> lines = split_lines(text, false);
  T9_TRY(in.charge_text(text.size() + (lines.size() + 1) * indention.size()));
  Text out;
  if (b.flag(1)) out.append(indention);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) out.append("\n", false);
    if (i != 0 && (blank || !lines[i].empty())) out.append(indention);
    out.append(lines[i]);
  }
  return in.make_text(std::move(out));
}

Result<Value> truncate(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("truncate", args, {"length", "killwords", "end", "leeway"}));
  T9_TRY(int64_t length, b.integer(0, 255));
  Text end("...");
  if (b.has(2)) {
    T9_TRY(const Text* given, need_string(b[2]));
    end = *given;
  }
  T9_TRY(int64_t leeway, b.some(3) ? need_integer(b[3]) : Result<int64_t>(5));
  auto n_end = static_cast<int64_t>(count_chars(end.view()));
  if (length < n_end)
    return python_error("AssertionError", "expected length >= {}, got {}", n_end, length);
  if (leeway < 0) return python_error("AssertionError", "expected leeway >= 0, got {}", leeway);
  std::optional<int64_t> n = length_of(v);
  if (!n) return type_error("object of type '{}' has no len()", type_name(v));
  if (*n <= length + leeway) return v;
  T9_TRY(Text text, text_of(v));
  Text head = first_chars(text, length - n_end);
  if (!b.flag(1)) {
    size_t space = head.bytes().rfind(' ');
    if (space != std::string::npos) head = head.slice(0, space);
  }
  head.append(end);
  return in.make_text(std::move(head));
}

Result<Value> wordwrap(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b,
         bind("wordwrap", args, {"width", "break_long_words", "wrapstring", "break_on_hyphens"}));
  T9_TRY(int64_t width, b.integer(0, 79));
  if (width <= 0) return value_error("invalid width {} (must be > 0)", width);
  Text separator("\n");
  if (b.some(2)) {
    T9_TRY(const Text* given, need_string(b[2]));
    separator = *given;
  }
  T9_TRY(Text text, text_of(v));
  T9_TRY(in.charge_text(text.size() * (1 + separator.size())));
  std::vector<Text> lines;
  for (const Text& line : split_lines(text, false)) {
    std::vector<Text> wrapped = wrap_line(line, {width, b.flag(1, true), b.flag(3, true)});
    lines.push_back(join(separator, wrapped));
  }
  return in.make_text(join(separator, lines));
}

Result<Value> wordcount(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("wordcount", args, {}));
  Text text = python_str(v);
  T9_TRY(in.charge_text(text.size()));
  int64_t n = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    auto [c, bytes] = decode_utf8(text.view(), at);
    bool word = c == '_' || (char_classes(c) & (kAlpha | kDecimal | kDigit | kNumeric)) != 0;
    if (word && !in_word) ++n;
    in_word = word;
    at += bytes;
  }
  return Value::integer(n);
}

Result<Value> format_filter(I& in, const Value& v, const Args& args) {
  if (!args.positional.empty() && !args.keyword.empty()) {
    return template_error("can't handle positional and keyword arguments at the same time");
  }
  if (args.keyword.empty()) return percent_format(in, python_str(v), Value::tuple(args.positional));
  auto dict = std::make_shared<Dict>();
  for (const auto& [name, value] : args.keyword) dict->set(Value::string(name), value);
  return percent_format(in, python_str(v), Value::object(Type::kDict, std::move(dict)));
}

Result<Value> string_filter(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("string", args, {}));
  T9_TRY(in.charge(v.weight()));
  return in.make_text(python_str(v));
}

void append_quoted(const Text& text, bool query, Text* out) {
  text.for_each_run([&](std::string_view run, bool outside) {
    std::string quoted;
    for (char c : run) {
      bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   std::string_view("_.-~").find(c) != std::string_view::npos ||
                   (c == '/' && !query);
      if (plain)
        quoted.push_back(c);
      else if (c == ' ' && query)
        quoted.push_back('+');
      else
        quoted += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    out->append(quoted, outside);
  });
}

Result<Value> urlencode(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("urlencode", args, {}));
  Text out;
  T9_TRY(in.charge(v.weight()));
  bool pairs = v.is(Type::kDict) || v.is_sequence() || v.is(Type::kView) || v.is(Type::kIterator);
  if (!pairs) {
    append_quoted(python_str(v), false, &out);
    return in.make_text(std::move(out));
  }
  Items items;
  if (v.is(Type::kDict)) {
    for (const auto& [key, value] : v.get<Dict>().entries)
      items.push_back(Value::tuple({key, value}));
  } else {
    T9_TRY(items, in.items_of(v));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    T9_TRY(Items pair, in.items_of(items[i]));
    if (pair.size() != 2)
      return value_error("not enough values to unpack (expected 2, got {})", pair.size());
    if (i != 0) out.append("&", false);
    append_quoted(python_str(pair[0]), true, &out);
    out.append("=", false);
    append_quoted(python_str(pair[1]), true, &out);
  }
  return in.make_text(std::move(out));
}

constexpr FilterEntry kTextFilters[] = {
    {"upper", case_filter<Case::kUpper>},
    {"lower", case_filter<Case::kLower>},
    {"capitalize", capitalize_filter},
    {"title", title},
    {"trim", trim},
    {"replace", replace_filter},
    {"center", center},
    {"indent", indent},
    {"truncate", truncate},
    {"wordwrap", wordwrap},
    {"wordcount", wordcount},
    {"format", format_filter},
    {"string", string_filter},
    {"urlencode", urlencode},
};

}  // namespace

Table<FilterEntry> text_filters() { return {kTextFilters, std::size(kTextFilters)}; }

}  // namespace tempo9::chat::jinja
