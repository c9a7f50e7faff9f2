// Methods of str.
#include <algorithm>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/markup.h"
#include "chat/jinja/print.h"
#include "chat/jinja/text_ops.h"

namespace tempo9::chat::jinja {
namespace {

Result<Value> list_of(I& in, std::vector<Text> parts) {
  Items items;
  for (Text& part : parts) items.push_back(Value::string(std::move(part)));
  return in.make_list(std::move(items));
}

// An optional argument that is a string or None.
Result<const Text*> optional_text(const Bound& b, size_t i) {
  if (!b.some(i)) return static_cast<const Text*>(nullptr);
  return need_string(b[i]);
}

template <Side side>
Result<Value> strip_method(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("strip", args, {"chars"}));
  T9_TRY(const Text* chars, optional_text(b, 0));
  return in.make_text(strip(self.text(), side, chars));
}

template <bool from_right>
Result<Value> split_method(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind("split", args, {"sep", "maxsplit"}));
  T9_TRY(const Text* separator, optional_text(b, 0));
  T9_TRY(int64_t max_split, b.integer(1, -1));
  if (separator != nullptr && separator->empty()) return value_error("empty separator");
  T9_TRY(in.charge(self.weight()));
  return list_of(in, from_right ? rsplit(self.text(), separator, max_split)
                                : split(self.text(), separator, max_split));
}

Result<Value> splitlines(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind("splitlines", args, {"keepends"}));
  return list_of(in, split_lines(self.text(), b.flag(0)));
}

template <Case to>
Result<Value> case_method(I& in, const Value& self, const Args& args) {
  T9_TRY(bind_positional("upper", args, {}));
  return in.make_text(to_case(self.text(), to));
}

template <Text (*f)(const Text&)>
Result<Value> text_method(I& in, const Value& self, const Args& args) {
  T9_TRY(bind_positional("method", args, {}));
  return in.make_text(f(self.text()));
}

// The part of self that start and end (in characters) leave; no value when start lies behind the
// end.
struct Window {
  size_t begin = 0, end = 0;
  bool valid = true;
};
Result<Window> window(const Value& self, const Bound& b, size_t first) {
  std::string_view s = self.text().view();
  auto n = *length_of(self);
  T9_TRY(int64_t start, b.some(first) ? need_integer(b[first]) : Result<int64_t>(0));
  T9_TRY(int64_t end, b.some(first + 1) ? need_integer(b[first + 1]) : Result<int64_t>(n));
  start = start < 0 ? std::max<int64_t>(start + n, 0) : start;
  end = end < 0 ? std::max<int64_t>(end + n, 0) : std::min(end, n);
  auto byte_of = [&](int64_t chars) {
    size_t at = 0;
    for (int64_t i = 0; i < chars && at < s.size(); ++i) at += decode_utf8(s, at).n_bytes;
    return at;
  };
  Window w;
  w.valid = start <= end && start <= n;
  w.begin = byte_of(start);
  w.end = std::max(byte_of(end), w.begin);
  return w;
}

template <bool at_start>
Result<Value> with_method(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional(at_start ? "startswith" : "endswith", args,
                                  {"prefix", "start", "end"}, 1));
  T9_TRY(Window w, window(self, b, 1));
  std::string_view s = self.text().view().substr(w.begin, w.end - w.begin);
  auto matches = [&](std::string_view affix) {
    return w.valid && (at_start ? s.starts_with(affix) : s.ends_with(affix));
  };
  if (b[0].is(Type::kTuple)) {
    for (const Value& v : b[0].items()) {
      T9_TRY(const Text* affix, need_string(v));
      if (matches(affix->view())) return Value::boolean(true);
    }
    return Value::boolean(false);
  }
  if (!b[0].is_string()) {
    return type_error("{} first arg must be str or a tuple of str, not {}",
                      at_start ? "startswith" : "endswith", type_name(b[0]));
  }
  T9_TRY(in.charge(b[0].weight()));
  return Value::boolean(matches(b[0].text().view()));
}

// found: characters from the start of the string, or -1.
Result<int64_t> find_text(I& in, const Value& self, const Args& args, bool last) {
  T9_TRY(Bound b, bind_positional("find", args, {"sub", "start", "end"}, 1));
  T9_TRY(const Text* sub, need_string(b[0]));
  T9_TRY(in.charge(self.weight()));
  T9_TRY(Window w, window(self, b, 1));
  std::string_view s = self.text().view();
  std::string_view part = s.substr(w.begin, w.end - w.begin);
  size_t found = last ? part.rfind(sub->view()) : part.find(sub->view());
  if (!w.valid || found == std::string_view::npos) return -1;
  return static_cast<int64_t>(count_chars(s.substr(0, w.begin + found)));
}

template <bool last>
Result<Value> find_method_of(I& in, const Value& self, const Args& args) {
  T9_TRY(int64_t at, find_text(in, self, args, last));
  return Value::integer(at);
}

template <bool last>
Result<Value> index_method(I& in, const Value& self, const Args& args) {
  T9_TRY(int64_t at, find_text(in, self, args, last));
  if (at < 0) return value_error("substring not found");
  return Value::integer(at);
}

Result<Value> count_method(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("count", args, {"sub", "start", "end"}, 1));
  T9_TRY(const Text* sub, need_string(b[0]));
  T9_TRY(in.charge(self.weight()));
  T9_TRY(Window w, window(self, b, 1));
  if (!w.valid) return Value::integer(0);
  std::string_view s = self.text().view().substr(w.begin, w.end - w.begin);
  if (sub->empty()) return Value::integer(static_cast<int64_t>(count_chars(s)) + 1);
  int64_t n = 0;
  for (size_t at = s.find(sub->view()); at != std::string_view::npos;
       at = s.find(sub->view(), at + sub->size()))
    ++n;
  return Value::integer(n);
}

Result<Value> replace_method(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("replace", args, {"old", "new", "count"}, 2));
  T9_TRY(const Text* old, need_string(b[0]));
  T9_TRY(const Text* replacement, need_string(b[1]));
  T9_TRY(int64_t n, b.integer(2, -1));
  if (self.text().markup())
    return replace_text(in, self.text(), escape_html(*old), escape_html(*replacement), n);
  return replace_text(in, self.text(), *old, *replacement, n);
}

Result<Value> join_method(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("join", args, {"iterable"}, 1));
  T9_TRY(Items items, in.items_of(b[0]));
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string()) {
      return type_error("sequence item {}: expected str instance, {} found", i,
                        type_name(items[i]));
    }
    if (i != 0) out.append(self.text());
    out.append(self.text().markup() ? escape_html(items[i].text()) : items[i].text());
    T9_TRY(in.charge_text(items[i].text().size() + self.text().size()));
  }
  out.set_markup(self.text().markup());
  return in.make_text(std::move(out));
}

Result<Value> format_method(I& in, const Value& self, const Args& args) {
  return brace_format(in, self.text(), args);
}

Result<Value> format_map(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("format_map", args, {"mapping"}, 1));
  if (!b[0].is(Type::kDict)) return type_error("format_map() argument must be a mapping");
  Args named;
  for (const auto& [key, value] : b[0].get<Dict>().entries) {
    if (key.is_string()) named.keyword.emplace_back(key.text().bytes(), value);
  }
  return brace_format(in, self.text(), named);
}

// align: '<' ljust, '>' rjust, '^' center
template <char align>
Result<Value> justify(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("just", args, {"width", "fillchar"}, 1));
  T9_TRY(int64_t width, need_integer(b[0]));
  Text fill(" ");
  if (b.has(1)) {
    T9_TRY(const Text* given, need_string(b[1]));
    if (count_chars(given->view()) != 1)
      return type_error("The fill character must be exactly one character long");
    fill = *given;
  }
  int64_t missing = std::max<int64_t>(width - *length_of(self), 0);
  T9_TRY(in.charge_text(static_cast<size_t>(missing) * fill.size() + self.text().size()));
  int64_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2 + (missing & width & 1);
  return in.make_text(padded(self.text(), left, missing - left, fill));
}

Result<Value> zfill(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("zfill", args, {"width"}, 1));
  T9_TRY(int64_t width, need_integer(b[0]));
  int64_t missing = std::max<int64_t>(width - *length_of(self), 0);
  T9_TRY(in.charge_text(static_cast<size_t>(missing) + self.text().size()));
  const Text& text = self.text();
  size_t sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+') ? 1 : 0;
  Text out = text.slice(0, sign);
  out.append(std::string(static_cast<size_t>(missing), '0'), false);
  out.append_slice(text, sign, text.size());
  return in.make_text(std::move(out));
}

template <bool from_right>
Result<Value> partition(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("partition", args, {"sep"}, 1));
  T9_TRY(const Text* separator, need_string(b[0]));
  if (separator->empty()) return value_error("empty separator");
  const Text& text = self.text();
  size_t at =
      from_right ? text.bytes().rfind(separator->bytes()) : text.bytes().find(separator->bytes());
  Items parts(3, Value::string(""));
  if (at == std::string::npos) {
    parts[from_right ? 2 : 0] = self;
  } else {
    parts[0] = Value::string(text.slice(0, at));
    parts[1] = Value::string(text.slice(at, at + separator->size()));
    parts[2] = Value::string(text.slice(at + separator->size(), text.size()));
  }
  return in.make_list(std::move(parts), Type::kTuple);
}

template <bool prefix>
Result<Value> remove_affix(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("removeprefix", args, {"affix"}, 1));
  T9_TRY(const Text* affix, need_string(b[0]));
  const Text& text = self.text();
  bool has = prefix ? text.view().starts_with(affix->view()) : text.view().ends_with(affix->view());
  if (!has) return self;
  return in.make_text(prefix ? text.slice(affix->size(), text.size())
                             : text.slice(0, text.size() - affix->size()));
}

Result<Value> expandtabs(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind("expandtabs", args, {"tabsize"}));
  T9_TRY(int64_t size, b.integer(0, 8));
  if (size > 1000)
    return make_error(ErrorCode::kResourceExhausted, "expandtabs({}) is too wide", size);
  auto tabs =
      static_cast<size_t>(std::count(self.text().bytes().begin(), self.text().bytes().end(), '\t'));
  T9_TRY(
      in.charge_text(self.text().size() + tabs * static_cast<size_t>(std::max<int64_t>(size, 0))));
  return in.make_text(expand_tabs(self.text(), size));
}

constexpr MethodEntry kMethods[] = {
    {"strip", strip_method<Side::kBoth>},
    {"lstrip", strip_method<Side::kLeft>},
    {"rstrip", strip_method<Side::kRight>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", splitlines},
    {"upper", case_method<Case::kUpper>},
    {"lower", case_method<Case::kLower>},
    {"casefold", case_method<Case::kFold>},
    {"title", text_method<title_case>},
    {"capitalize", text_method<capitalize>},
    {"swapcase", text_method<swap_case>},
    {"startswith", with_method<true>},
    {"endswith", with_method<false>},
    {"find", find_method_of<false>},
    {"rfind", find_method_of<true>},
    {"index", index_method<false>},
    {"rindex", index_method<true>},
    {"count", count_method},
    {"replace", replace_method},
    {"join", join_method},
    {"format", format_method},
    {"format_map", format_map},
    {"ljust", justify<'<'>},
    {"rjust", justify<'>'>},
    {"center", justify<'^'>},
    {"zfill", zfill},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"expandtabs", expandtabs},
};

}  // namespace

Result<Value> replace_text(Interpreter& in, const Text& text, const Text& old,
                           const Text& replacement, int64_t count) {
  // Counts first, so that a small text with a long replacement cannot take all memory.
  size_t hits = 0;
  if (old.empty()) {
    hits = count_chars(text.view()) + 1;
  } else {
    for (size_t at = text.bytes().find(old.bytes()); at != std::string::npos;
         at = text.bytes().find(old.bytes(), at + old.size())) {
      ++hits;
    }
  }
  if (count >= 0) hits = std::min(hits, static_cast<size_t>(count));
  T9_TRY(in.charge_text(text.size() + hits * replacement.size()));
  return in.make_text(replace(text, old, replacement, count));
}

Table<MethodEntry> string_methods() { return {kMethods, std::size(kMethods)}; }

}  // namespace tempo9::chat::jinja
