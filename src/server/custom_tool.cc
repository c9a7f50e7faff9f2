#include "server/custom_tool.h"

#include <utility>

#include "server/json_body.h"

namespace tempo9::server {
namespace {

constexpr const char* kInput = "input";

Result<std::string> string_of(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  return make_error(ErrorCode::kInvalidArgument, "{}.{}: found {}, expected a string", where, key,
                    describe(*found));
}

// What the model is told of the format; empty: any text.
Result<std::string> describe_format(const Json& format, const std::string& where) {
  T9_TRY(const std::string type, string_of(format, "type", where));
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
  T9_TRY(const std::string syntax, string_of(grammar, "syntax", at));
  T9_TRY(const std::string definition, string_of(grammar, "definition", at));
  return fmt::format("The input must match this grammar ({}):\n{}", syntax, definition);
}

}  // namespace

Result<chat::Tool> custom_as_function(const Json& entry, const std::string& where,
                                      std::string name) {
  chat::Tool tool;
  tool.name = std::move(name);
  T9_TRY(tool.description, string_of(entry, "description", where));
  const auto format = entry.find("format");
  if (format != entry.end() && format->is_object()) {
    T9_TRY(const std::string told, describe_format(*format, where + ".format"));
    if (!told.empty() && !tool.description.empty()) tool.description += "\n\n";
    tool.description += told;
  }
  tool.parameters = {
      {"type", "object"},
      {"properties",
       {{kInput, {{"type", "string"}, {"description", "The tool's whole input, as it is."}}}}},
      {"required", Json::array({kInput})}};
  Json function{{"name", tool.name}};
  if (!tool.description.empty()) function["description"] = tool.description;
  function["parameters"] = tool.parameters;
  tool.raw = {{"type", "function"}, {"function", std::move(function)}};
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
