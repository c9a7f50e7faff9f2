// Filters that know HTML.
#include "chat/jinja/args.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/markup.h"
#include "chat/jinja/print.h"

namespace tempo9::chat::jinja {
namespace {

template <bool force>
Result<Value> escape(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("escape", args, {}));
  return in.make_text(escape_html(python_str(v), force));
}

Result<Value> safe(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("safe", args, {}));
  Text text = python_str(v);
  text.set_markup(true);
  return in.make_text(std::move(text));
}

Result<Value> striptags(I& in, const Value& v, const Args& args) {
  T9_TRY(bind("striptags", args, {}));
  return in.make_text(strip_tags(python_str(v)));
}

Result<Value> xmlattr(I& in, const Value& v, const Args& args) {
  T9_TRY(Bound b, bind("xmlattr", args, {"autospace"}));
  if (v.is_undefined()) return undefined_error(v);
  if (!v.is(Type::kDict)) return type_error("xmlattr needs a mapping, not {}", type_name(v));
  Text out;
  for (const auto& [key, value] : v.get<Dict>().entries) {
    if (value.is(Type::kNone) || value.is_undefined()) continue;
    Text name = python_str(key);
    if (name.bytes().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return value_error("Invalid character in attribute name: {}", python_repr(key).bytes());
    }
    if (!out.empty()) out.append(" ", false);
    out.append(escape_html(name));
    out.append("=\"", false);
    out.append(escape_html(python_str(value)));
    out.append("\"", false);
  }
  Text spaced;
  if (!out.empty() && b.flag(0, true)) spaced.append(" ", false);
  spaced.append(out);
  return in.make_text(std::move(spaced));
}

constexpr FilterEntry kMarkupFilters[] = {
    {"e", escape<false>}, {"escape", escape<false>}, {"forceescape", escape<true>},
    {"safe", safe},       {"striptags", striptags},  {"xmlattr", xmlattr},
};

}  // namespace

Table<FilterEntry> markup_filters() { return {kMarkupFilters, std::size(kMarkupFilters)}; }

}  // namespace tempo9::chat::jinja
