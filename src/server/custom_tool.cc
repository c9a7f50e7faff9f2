#include "server/custom_tool.h"

#include <optional>
#include <utility>

#include "server/json_body.h"

namespace tempo9::server {
namespace {

constexpr const char* kInput = kCustomInput;

// None: any text.
Result<std::optional<chat::TextGrammar>> read_grammar(const Json& format,
                                                      const std::string& where) {
  T9_TRY(const std::string type, string_at(format, "type", where));
  if (type.empty() || type == "text") return std::optional<chat::TextGrammar>();
  if (type != "grammar") {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.type: found {}, expected \"text\" or \"grammar\"", where,
                      dump(Json(type)));
  }
  const auto nested = format.find("grammar");
  const bool is_nested = nested != format.end() && nested->is_object();
  const Json& holder = is_nested ? *nested : format;
  const std::string at = is_nested ? where + ".grammar" : where;
  chat::TextGrammar grammar;
  T9_TRY(grammar.syntax, needed_string_at(holder, "syntax", at));
  T9_TRY(grammar.definition, needed_string_at(holder, "definition", at));
  if (grammar.syntax != "lark" && grammar.syntax != "regex") {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.syntax: found {}, expected \"lark\" or \"regex\"", at,
                      dump(Json(grammar.syntax)));
  }
  return std::optional(std::move(grammar));
}

}  // namespace

Result<chat::Tool> custom_as_function(const Json& entry, const std::string& where,
                                      std::string name) {
  T9_TRY(std::string description, string_at(entry, "description", where));
  std::optional<chat::TextGrammar> grammar;
  const auto format = entry.find("format");
  if (format != entry.end() && format->is_object()) {
    T9_TRY(grammar, read_grammar(*format, where + ".format"));
  }
  if (grammar) {
    const auto strict = entry.find("strict");
    grammar->strict = strict != entry.end() && *strict == true;
    if (!description.empty()) description += "\n\n";
    description += fmt::format("The input must match this grammar ({}):\n{}", grammar->syntax,
                               grammar->definition);
  }
  Json parameters = {
      {"type", "object"},
      {"properties",
       {{kInput, {{"type", "string"}, {"description", "The tool's whole input, as it is."}}}}},
      {"required", Json::array({kInput})}};
  chat::Tool tool =
      chat::function_tool(std::move(name), std::move(description), std::move(parameters));
  tool.grammar = std::move(grammar);
  return tool;
}

std::string custom_input(const std::string& arguments) {
  const Json parsed = Json::parse(arguments, nullptr, false);
  if (parsed.is_object() && parsed.size() == 1 && parsed.contains(kInput) &&
      parsed[kInput].is_string()) {
    return parsed[kInput].get<std::string>();
  }
  return arguments;
}

Json custom_arguments(std::string input) { return {{kInput, std::move(input)}}; }

}  // namespace tempo9::server
