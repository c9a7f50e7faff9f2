// Global functions.
#include <algorithm>
#include <array>

#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/print.h"
#include "chat/jinja/strftime.h"

namespace tempo9::chat::jinja {
namespace {

Result<Value> range(I& in, const Value&, const Args& args) {
  if (!args.keyword.empty()) return type_error("range() takes no keyword arguments");
  const Items& p = args.positional;
  if (p.empty() || p.size() > 3)
    return type_error("range expected 1 to 3 arguments, got {}", p.size());
  std::array<int64_t, 3> n = {0, 0, 1};
  for (size_t i = 0; i < p.size(); ++i) {
    T9_TRY(n[i], need_integer(p[i]));
    constexpr int64_t kFar = int64_t{1} << 50;
    n[i] = std::clamp(n[i], -kFar, kFar);
  }
  auto range = std::make_shared<Range>();
  range->start = p.size() == 1 ? 0 : n[0];
  range->stop = p.size() == 1 ? n[0] : n[1];
  range->step = n[2];
  if (range->step == 0) return value_error("range() arg 3 must not be zero");
  if (range->size() > in.limits().max_range) {
    return python_error("OverflowError",
                        "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
                        in.limits().max_range);
  }
  return Value::object(Type::kRange, std::move(range));
}

Status fill_dict(I& in, std::string_view function, const Args& args, Dict* dict) {
  if (args.positional.size() > 1) {
    return type_error("{} expected at most 1 argument, got {}", function, args.positional.size());
  }
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is(Type::kDict)) {
      T9_TRY(in.charge(from.get<Dict>().entries.size()));
      for (const auto& [key, value] : from.get<Dict>().entries) dict->set(key, value);
    } else {
      T9_TRY(Items pairs, in.items_of(from));
      for (size_t i = 0; i < pairs.size(); ++i) {
        T9_TRY(Items pair, in.items_of(pairs[i]));
        if (pair.size() != 2) {
          return value_error("dictionary update sequence element #{} has length {}; 2 is required",
                             i, pair.size());
        }
        T9_TRY(check_hashable(pair[0]));
        dict->set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : args.keyword) dict->set(Value::string(name), value);
  return {};
}

Result<Value> dict(I& in, const Value&, const Args& args) {
  auto dict = std::make_shared<Dict>();
  T9_TRY(fill_dict(in, "dict", args, dict.get()));
  return Value::object(Type::kDict, std::move(dict));
}

Result<Value> make_namespace(I& in, const Value&, const Args& args) {
  auto ns = std::make_shared<Namespace>();
  T9_TRY(fill_dict(in, "namespace", args, &ns->attributes));
  for (const auto& [key, value] : ns->attributes.entries) ns->deepen(value);
  in.track(ns);
  return Value::object(Type::kNamespace, std::move(ns));
}

Result<Value> cycler(I&, const Value&, const Args& args) {
  if (args.positional.empty())
    return python_error("RuntimeError", "at least one item has to be provided");
  auto cycler = std::make_shared<Cycler>();
  for (const Value& v : args.positional) cycler->contain(v);
  cycler->items = args.positional;
  return Value::object(Type::kCycler, std::move(cycler));
}

Result<Value> joiner(I&, const Value&, const Args& args) {
  T9_TRY(Bound b, bind("joiner", args, {"sep"}));
  auto joiner = std::make_shared<Joiner>();
  joiner->separator = b.has(0) ? b[0] : Value::string(", ");
  joiner->contain(joiner->separator);
  return Value::object(Type::kJoiner, std::move(joiner));
}

Result<Value> raise_exception(I&, const Value&, const Args& args) {
  T9_TRY(Bound b, bind("raise_exception", args, {"message"}, 1));
  return template_error(python_str(b[0]).bytes());
}

Result<Value> strftime_now(I& in, const Value&, const Args& args) {
  T9_TRY(Bound b, bind("strftime_now", args, {"format"}, 1));
  T9_TRY(const Text* format, need_string(b[0]));
  T9_TRY(std::string text, format_time(in.now(), format->bytes()));
  return in.make_text(Text(std::move(text)));
}

struct GlobalEntry {
  std::string_view name;
  Native call;
};

constexpr GlobalEntry kGlobals[] = {
    {"range", range},
    {"dict", dict},
    {"namespace", make_namespace},
    {"cycler", cycler},
    {"joiner", joiner},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
};

}  // namespace

Native find_global(std::string_view name) {
  auto it = std::find_if(std::begin(kGlobals), std::end(kGlobals),
                         [&](const GlobalEntry& e) { return e.name == name; });
  return it == std::end(kGlobals) ? nullptr : it->call;
}

}  // namespace tempo9::chat::jinja
