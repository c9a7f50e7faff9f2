// tools and tool_choice of the Messages API.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/dialects/anthropic.h"

namespace tempo9::server::anthropic {
namespace {

constexpr size_t kMaxWarnings = 16;  // they go into a header

Result<chat::Tool> read_tool(const Json& entry, const std::string& where) {
  Fields fields(entry, where + ".");
  std::string name, description;
  bool strict = false;
  fields.read("name", &name);
  fields.read("description", &description);
  fields.read("strict", &strict);
  const Json* schema = fields.find("input_schema");
  if (schema == nullptr || !schema->is_object())
    fields.fail("input_schema", "a JSON Schema object");
  if (name.empty()) fields.fail("name", "the name of the tool");
  T9_TRY(fields.status());
  chat::Tool tool = chat::function_tool(std::move(name), std::move(description), *schema);
  if (strict) tool.raw["function"]["strict"] = true;
  return tool;
}

}  // namespace

Result<Tools> read_tools(const Json* value, std::vector<std::string>* warnings) {
  Tools tools;
  if (value == nullptr) return tools;
  if (!value->is_array()) {
    return make_error(ErrorCode::kInvalidArgument, "tools: found {}, expected an array",
                      describe(*value));
  }
  bool server_searches = false;  // a search of tools that will not happen
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& entry = (*value)[i];
    const std::string where = fmt::format("tools[{}]", i);
    if (!entry.is_object()) {
      return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected an object", where,
                        describe(entry));
    }
    Fields fields(entry, where + ".");
    std::string type = "custom";
    bool deferred = false;
    fields.read("type", &type);
    fields.read("defer_loading", &deferred);
    T9_TRY(fields.status());
    if (type != "custom") {
      server_searches |= type.starts_with("tool_search");
      if (warnings->size() < kMaxWarnings) {
        warnings->push_back(
            fmt::format("{}.type: found {}, which is not available and was left out", where,
                        describe(entry["type"])));
      }
      continue;
    }
    T9_TRY(chat::Tool tool, read_tool(entry, where));
    (deferred ? tools.deferred : tools.shown).push_back(std::move(tool));
  }
  if (server_searches) {
    std::move(tools.deferred.begin(), tools.deferred.end(), std::back_inserter(tools.shown));
    tools.deferred.clear();
  }
  return tools;
}

Result<ToolChoice> read_tool_choice(const Json* value) {
  using Kind = chat::ToolChoice::Kind;
  ToolChoice out;
  if (value == nullptr) return out;
  constexpr std::string_view kExpected =
      "an object of type \"auto\", \"any\", \"none\" or \"tool\"";
  if (!value->is_object()) {
    return make_error(ErrorCode::kInvalidArgument, "tool_choice: found {}, expected {}",
                      describe(*value), kExpected);
  }
  Fields fields(*value, "tool_choice.");
  std::string type;
  bool one_call = false;
  fields.read("type", &type);
  fields.read("name", &out.choice.name);
  fields.read("disable_parallel_tool_use", &one_call);
  if (type == "any") {
    out.choice.kind = Kind::kRequired;
  } else if (type == "none") {
    out.choice.kind = Kind::kNone;
  } else if (type == "tool") {
    out.choice.kind = Kind::kNamed;
    if (out.choice.name.empty()) fields.fail("name", "the name of a tool");
  } else if (type != "auto") {
    fields.fail("type", "\"auto\", \"any\", \"none\" or \"tool\"");
  }
  T9_TRY(fields.status());
  if (out.choice.kind != Kind::kNamed) out.choice.name.clear();
  out.parallel = !one_call;
  return out;
}

}  // namespace tempo9::server::anthropic
