// Calls as a format's syntax writes them, for tests.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "chat/call_syntax.h"
#include "chat/message.h"

namespace tempo9::chat {

// Values of a call's arguments as the format writes them.
inline std::string python(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& item : value.items()) {
    if (!out.empty()) out += ", ";
    if (value.is_object()) out += Json(item.key()).dump() + ": ";
    out += python(item.value());
  }
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

inline std::string gemma(const Json& value, std::string_view quote) {
  if (value.is_string()) return fmt::format("{0}{1}{0}", quote, value.get<std::string>());
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& item : value.items()) {
    if (!out.empty()) out += ",";
    if (value.is_object()) out += item.key() + ":";
    out += gemma(item.value(), quote);
  }
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

struct Call {
  std::string name;
  Json arguments;
  bool operator==(const Call&) const = default;
};
inline void PrintTo(const Call& call, std::ostream* os) { *os << call.name << call.arguments; }

inline std::string written(const CallSyntax& syntax, const std::vector<Call>& calls) {
  std::string out(syntax.begin);
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& [name, arguments] = calls[i];
    if (i > 0) out += syntax.between;
    out += fmt::format("{}{}", syntax.call_begin, name);
    if (!syntax.number_mark.empty()) out += fmt::format("{}{}", syntax.number_mark, i);
    out += syntax.name_end;
    std::string separator;
    switch (syntax.arguments) {
      case CallSyntax::Arguments::kNone:
        break;
      case CallSyntax::Arguments::kJson:
        out += arguments.dump();
        break;
      case CallSyntax::Arguments::kGemma:
        out += gemma(arguments, syntax.quote);
        break;
      case CallSyntax::Arguments::kPython:
        for (const auto& item : arguments.items()) {
          out += std::exchange(separator, ", ") + item.key() + "=" + python(item.value());
        }
        break;
      case CallSyntax::Arguments::kParameters:
        for (const auto& item : arguments.items()) {
          const bool is_text = item.value().is_string();
          const bool apart = !is_text && !syntax.key_end_json.empty();
          out += fmt::format("{}{}{}{}{}", syntax.key_begin, item.key(),
                             apart ? syntax.key_end_json : syntax.key_end,
                             is_text ? item.value().get<std::string>() : item.value().dump(),
                             syntax.value_end);
        }
        break;
    }
    out += syntax.call_end;
  }
  return out + std::string(syntax.end);
}

// Two calls whose text holds quotes, brackets and all marks of the format but Gemma's quote.
inline std::vector<Call> two_calls(const CallSyntax& syntax) {
  std::string text = "Lu \"nd\" it's {\"a\": \"}</\"} ```\n)] \\ é";
  for (const std::string_view mark : syntax.marks) {
    if (mark != syntax.quote) text += fmt::format(" {} x", mark);
  }
  if (syntax.arguments == CallSyntax::Arguments::kParameters) {
    text += fmt::format(" {} y", syntax.value_end.substr(syntax.value_end.find_first_not_of('\n')));
  }
  return {{"get_weather",
           {{"city", text},
            {"days", 2},
            {"on", true},
            {"rows", Json::array({{{"a", true}, {"b", nullptr}}, "x"})},
            {"opts", {{"k", "v"}}}}},
          {"now", Json::object()}};
}

}  // namespace tempo9::chat
