#include "server/custom_tool.h"

#include <utility>

#include "server/json_body.h"

namespace tempo9::server {
namespace {

constexpr const char* kInput = "input";

// What the model is told of the format; empty: any text.
Result<std::string> describe_format(const Json& format, const std::string& where) {
  T9_TRY(const std::string type, string_at(format, "type", where));
  if (type.empty() || type == "text") return std::string();
  if (type != "grammar") {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.type: found {}, expected \"text\" or \"grammar\"", where,
                      dump(Json(type)));
  }
  const auto nested = format.find("grammar");
  const bool is_nested = nested != format.end() && nested->is_object();
  const Json& grammar = is_nested ? *nested : format;
  const std::string at = is_nested ? where + ".grammar" : where;
  T9_TRY(const std::string syntax, string_at(grammar, "syntax", at));
  T9_TRY(const std::string definition, string_at(grammar, "definition", at));
  return fmt::format("The input must match this grammar ({}):\n{}", syntax, definition);
}

}  // namespace

Result<chat::Tool> custom_as_function(const Json& entry, const std::string& where,
                                      std::string name) {
  T9_TRY(std::string description, string_at(entry, "description", where));
  const auto format = entry.find("format");
  if (format != entry.end() && format->is_object()) {
    T9_TRY(const std::string told, describe_format(*format, where + ".format"));
    if (!told.empty() && !description.empty()) description += "\n\n";
    description += told;
  }
  Json parameters = {
      {"type", "object"},
      {"properties",
       {{kInput, {{"type", "string"}, {"description", "The tool's whole input, as it is."}}}}},
      {"required", Json::array({kInput})}};
  return chat::function_tool(std::move(name), std::move(description), std::move(parameters));
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
