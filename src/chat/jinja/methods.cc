// Methods of every other type, and the predicates of str.
#include <algorithm>
#include <array>
#include <cmath>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {
namespace {

// ---- str predicates: true when there is a character and all fit

template <uint16_t classes>
Result<Value> all_chars(I& in, const Value& self, const Args& args) {
  T9_TRY(bind("isalpha", args, {}));
  T9_TRY(in.charge(self.weight()));
  std::string_view s = self.text().view();
  bool empty_is = classes == kPrintable;
  for (size_t at = 0; at < s.size();) {
    auto [c, n] = decode_utf8(s, at);
    if ((char_classes(c) & classes) == 0) return Value::boolean(false);
    at += n;
  }
  return Value::boolean(!s.empty() || empty_is);
}

// isupper and islower: some cased character, and none of the other cases.
template <uint16_t wanted, uint16_t refused>
Result<Value> cased(I& in, const Value& self, const Args& args) {
  T9_TRY(bind("isupper", args, {}));
  T9_TRY(in.charge(self.weight()));
  std::string_view s = self.text().view();
  bool any = false;
  for (size_t at = 0; at < s.size();) {
    auto [c, n] = decode_utf8(s, at);
    uint16_t classes = char_classes(c);
    if ((classes & refused) != 0) return Value::boolean(false);
    any = any || (classes & wanted) != 0;
    at += n;
  }
  return Value::boolean(any);
}

Result<Value> istitle(I& in, const Value& self, const Args& args) {
  T9_TRY(bind("istitle", args, {}));
  T9_TRY(in.charge(self.weight()));
  std::string_view s = self.text().view();
  bool any = false, in_word = false;
  for (size_t at = 0; at < s.size();) {
    auto [c, n] = decode_utf8(s, at);
    uint16_t classes = char_classes(c);
    bool starts = (classes & (kUpper | kTitle)) != 0, goes_on = (classes & kLower) != 0;
    if ((starts && in_word) || (goes_on && !in_word)) return Value::boolean(false);
    in_word = starts || goes_on;
    any = any || in_word;
    at += n;
  }
  return Value::boolean(any);
}

Result<Value> isascii(I&, const Value& self, const Args& args) {
  T9_TRY(bind("isascii", args, {}));
  const std::string& s = self.text().bytes();
  return Value::boolean(
      std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

Result<Value> isidentifier(I&, const Value& self, const Args& args) {
  T9_TRY(bind("isidentifier", args, {}));
  std::string_view s = self.text().view();
  for (size_t at = 0; at < s.size();) {
    auto [c, n] = decode_utf8(s, at);
    if ((char_classes(c) & (at == 0 ? kIdentifierStart : kIdentifier)) == 0)
      return Value::boolean(false);
    at += n;
  }
  return Value::boolean(!s.empty());
}

constexpr MethodEntry kPredicates[] = {
    {"isalpha", all_chars<kAlpha>},
    {"isalnum", all_chars<kAlpha | kDecimal | kDigit | kNumeric>},
    {"isdigit", all_chars<kDigit | kDecimal>},
    {"isdecimal", all_chars<kDecimal>},
    {"isnumeric", all_chars<kNumeric>},
    {"isspace", all_chars<kSpace>},
    {"isprintable", all_chars<kPrintable>},
    {"isupper", cased<kUpper, kLower | kTitle>},
    {"islower", cased<kLower, kUpper | kTitle>},
    {"istitle", istitle},
    {"isascii", isascii},
    {"isidentifier", isidentifier},
};

// ---- dict

template <View::Of of>
Result<Value> view(I&, const Value& self, const Args& args) {
  T9_TRY(bind("items", args, {}));
  auto view = std::make_shared<View>();
  view->of = of;
  view->dict = self;
  view->contain(self);
  return Value::object(Type::kView, std::move(view));
}

Result<Value> dict_get(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("get", args, {"key", "default"}, 1));
  T9_TRY(check_hashable(b[0]));
  if (!b[0].is_string()) T9_TRY(in.charge(self.get<Dict>().entries.size()));
  if (const Value* v = self.get<Dict>().find(b[0])) return *v;
  return b.has(1) ? b[1] : Value::none();
}

Result<Value> copy(I& in, const Value& self, const Args& args) {
  T9_TRY(bind("copy", args, {}));
  T9_TRY(in.charge(1));
  return self;  // values do not change, so a copy is the same
}

constexpr MethodEntry kDictMethods[] = {
    {"items", view<View::Of::kItems>},
    {"keys", view<View::Of::kKeys>},
    {"values", view<View::Of::kValues>},
    {"get", dict_get},
    {"copy", copy},
};

// ---- list, tuple, range

Result<Value> count(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("count", args, {"value"}, 1));
  T9_TRY(Items items, in.items_of(self));
  int64_t n = 0;
  for (const Value& item : items) {
    T9_TRY(bool same, in.equals(item, b[0]));
    n += same ? 1 : 0;
  }
  return Value::integer(n);
}

Result<Value> index(I& in, const Value& self, const Args& args) {
  T9_TRY(Bound b, bind_positional("index", args, {"value", "start", "stop"}, 1));
  T9_TRY(Items items, in.items_of(self));
  auto n = static_cast<int64_t>(items.size());
  T9_TRY(int64_t start, b.integer(1, 0));
  T9_TRY(int64_t stop, b.integer(2, n));
  start = start < 0 ? std::max<int64_t>(start + n, 0) : start;
  stop = stop < 0 ? stop + n : std::min(stop, n);
  for (int64_t i = start; i < stop; ++i) {
    T9_TRY(bool same, in.equals(items[static_cast<size_t>(i)], b[0]));
    if (same) return Value::integer(i);
  }
  return value_error(
      "{}", self.is(Type::kTuple) ? "tuple.index(x): x not in tuple" : "value is not in list");
}

constexpr MethodEntry kListMethods[] = {{"count", count}, {"index", index}, {"copy", copy}};

// ---- numbers

Result<Value> bit_length(I&, const Value& self, const Args& args) {
  T9_TRY(bind("bit_length", args, {}));
  int64_t i = self.as_int();
  uint64_t magnitude = i < 0 ? ~static_cast<uint64_t>(i) + 1 : static_cast<uint64_t>(i);
  return Value::integer(magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude));
}

Result<Value> is_integer(I&, const Value& self, const Args& args) {
  T9_TRY(bind("is_integer", args, {}));
  return Value::boolean(std::isfinite(self.as_double()) &&
                        std::floor(self.as_double()) == self.as_double());
}

constexpr MethodEntry kIntMethods[] = {{"bit_length", bit_length}, {"conjugate", copy}};
constexpr MethodEntry kFloatMethods[] = {{"is_integer", is_integer}, {"conjugate", copy}};

template <typename T>
Native find_entry(const T& table, std::string_view name) {
  auto it = std::find_if(table.begin(), table.end(),
                         [&](const MethodEntry& e) { return e.name == name; });
  return it == table.end() ? nullptr : it->method;
}
template <size_t N>
Native find_entry(const MethodEntry (&table)[N], std::string_view name) {
  return find_entry(Table<MethodEntry>{table, N}, name);
}

}  // namespace

Table<MethodEntry> string_predicates() { return {kPredicates, std::size(kPredicates)}; }

Native find_method(const Value& object, std::string_view name) {
  switch (object.type()) {
    case Type::kString: {
      Native method = find_entry(string_methods(), name);
      return method != nullptr ? method : find_entry(string_predicates(), name);
    }
    case Type::kDict:
      return find_entry(kDictMethods, name);
    case Type::kList:
      return find_entry(kListMethods, name);
    case Type::kTuple:
    case Type::kRange:
      return name == "copy" ? nullptr : find_entry(kListMethods, name);
    case Type::kBool:
    case Type::kInt:
      return find_entry(kIntMethods, name);
    case Type::kFloat:
      return find_entry(kFloatMethods, name);
    default:
      return nullptr;
  }
}

bool is_unsafe_attribute(const Value& object, std::string_view name) {
  constexpr std::array<std::string_view, 5> kDictMutators = {"clear", "pop", "popitem",
                                                             "setdefault", "update"};
  constexpr std::array<std::string_view, 8> kListMutators = {"append", "clear", "pop",    "reverse",
                                                             "insert", "sort",  "extend", "remove"};
  auto in = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (object.is(Type::kDict) && in(kDictMutators)) return true;
  if (object.is(Type::kList) && in(kListMutators)) return true;
  // What every Python object has; other names with underscores are only keys that may or may not be
  // there.
  constexpr std::array<std::string_view, 16> kPrivate = {
      "__class__",  "__doc__",          "__init__",    "__new__",
      "__dir__",    "__eq__",           "__ne__",      "__hash__",
      "__str__",    "__repr__",         "__format__",  "__reduce__",
      "__sizeof__", "__getattribute__", "__setattr__", "__init_subclass__"};
  return in(kPrivate);
}

}  // namespace tempo9::chat::jinja
