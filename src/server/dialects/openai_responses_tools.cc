#include "server/dialects/openai_responses_tools.h"

#include <algorithm>
#include <utility>

#include "server/custom_tool.h"
#include "server/json_body.h"

namespace tempo9::server::openai {
namespace {

constexpr std::string_view kJoint = "__";
constexpr const char* kToolSearch = "tool_search";

Result<std::string> name_of(const Json& object, const std::string& where) {
  T9_TRY(std::string name, string_at(object, "name", where));
  if (name.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.name: found nothing, expected the name of the tool", where);
  }
  return name;
}

Json no_parameters() { return {{"type", "object"}, {"properties", Json::object()}}; }

// The shape of chat completions passes, too.
const Json& function_of(const Json& entry) {
  const auto nested = entry.find("function");
  return nested != entry.end() && nested->is_object() ? *nested : entry;
}

Result<chat::Tool> function_tool(const Json& function, const std::string& where, std::string name) {
  T9_TRY(std::string description, string_at(function, "description", where));
  Json parameters = no_parameters();
  const auto found = function.find("parameters");
  if (found != function.end() && !found->is_null()) {
    if (!found->is_object()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{}.parameters: found {}, expected a JSON Schema object", where,
                        describe(*found));
    }
    parameters = *found;
  }
  return chat::function_tool(std::move(name), std::move(description), std::move(parameters));
}

Result<chat::Tool> search_tool(const Json& entry, const std::string& where) {
  T9_TRY(std::string description, string_at(entry, "description", where));
  if (description.empty())
    description = "Finds further tools. Call it before you say that a tool is missing.";
  const auto found = entry.find("parameters");
  Json parameters{{"type", "object"},
                  {"properties", {{"query", {{"type", "string"}}}}},
                  {"required", Json::array({"query"})}};
  if (found != entry.end() && found->is_object()) parameters = *found;
  return chat::function_tool(kToolSearch, std::move(description), std::move(parameters));
}

bool is_true(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && *found == true;
}

}  // namespace

std::string ResponseTools::visible_name(std::string_view name_space, std::string_view name) {
  if (name_space.empty()) return std::string(name);
  return fmt::format("{}{}{}", name_space, name_space.ends_with(kJoint) ? "" : kJoint, name);
}

Result<ResponseTools> ResponseTools::from_json(const Json& tools) {
  ResponseTools out;
  if (tools.is_null()) return out;
  if (!tools.is_array()) {
    return make_error(ErrorCode::kInvalidArgument, "tools: found {}, expected an array or null",
                      describe(tools));
  }
  out.client_searches_ = std::any_of(tools.begin(), tools.end(), [](const Json& entry) {
    return entry.is_object() && entry.value("type", Json()) == kToolSearch &&
           entry.value("execution", Json()) == "client";
  });
  for (size_t i = 0; i < tools.size(); ++i) {
    T9_TRY(out.add(tools[i], fmt::format("tools[{}]", i), "", Place::kFront, &out.shown_));
  }
  return out;
}

Result<std::string> ResponseTools::load(const Json& tools, const std::string& where) {
  if (!tools.is_array()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected an array of tools",
                      where, describe(tools));
  }
  std::vector<chat::Tool> added;
  for (size_t i = 0; i < tools.size(); ++i) {
    T9_TRY(add(tools[i], fmt::format("{}[{}]", where, i), "", Place::kLoaded, &added));
  }
  if (added.empty()) return std::string("No tools were found.");
  std::string text = "These tools can be called from here on:";
  for (const chat::Tool& tool : added) {
    text += '\n';
    text += dump(tool.raw);
    const bool shown = std::any_of(shown_.begin(), shown_.end(),
                                   [&](const chat::Tool& t) { return t.name == tool.name; });
    const bool known = std::any_of(loaded_.begin(), loaded_.end(),
                                   [&](const chat::Tool& t) { return t.name == tool.name; });
    if (!shown && !known) loaded_.push_back(tool);
  }
  return text;
}

Status ResponseTools::add(const Json& entry, const std::string& where,
                          const std::string& name_space, Place place,
                          std::vector<chat::Tool>* added) {
  using Kind = ToolOrigin::Kind;
  if (!entry.is_object()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected an object", where,
                      describe(entry));
  }
  T9_TRY(const std::string type, string_at(entry, "type", where));
  if (type == "namespace") return add_namespace(entry, where, place, added);
  const bool waits = place == Place::kFront && client_searches_ && is_true(entry, "defer_loading");
  Result<chat::Tool> tool = make_error(ErrorCode::kInternal, "unset");
  ToolOrigin origin{Kind::kFunction, {}, name_space};
  if (type.empty() || type == "function") {
    const Json& function = function_of(entry);
    T9_TRY(origin.name, name_of(function, where));
    tool = function_tool(function, where, visible_name(name_space, origin.name));
  } else if (type == "custom") {
    origin.kind = Kind::kCustom;
    T9_TRY(origin.name, name_of(entry, where));
    tool = custom_as_function(entry, where, visible_name(name_space, origin.name));
  } else if (type == kToolSearch && entry.value("execution", Json()) == "client") {
    origin.kind = Kind::kToolSearch;
    origin.name = kToolSearch;
    tool = search_tool(entry, where);
  } else {
    skip(type, where);
    return {};
  }
  if (!tool) return tool.error();
  const bool is_new = declare(*tool, std::move(origin));
  if (!is_new && place == Place::kFront) {
    warnings_.push_back(
        fmt::format("{}.name: found {} a second time; the first one counts", where, tool->name));
    return {};
  }
  if (!waits) added->push_back(std::move(*tool));
  return {};
}

Status ResponseTools::add_namespace(const Json& entry, const std::string& where, Place place,
                                    std::vector<chat::Tool>* added) {
  T9_TRY(const std::string name, name_of(entry, where));
  const auto tools = entry.find("tools");
  if (tools == entry.end() || !tools->is_array()) {
    return make_error(ErrorCode::kInvalidArgument, "{}.tools: found {}, expected an array", where,
                      tools == entry.end() ? "nothing" : describe(*tools));
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    const Json& tool = (*tools)[i];
    const std::string at = fmt::format("{}.tools[{}]", where, i);
    if (tool.is_object() && tool.value("type", Json()) == "namespace") {
      return make_error(ErrorCode::kInvalidArgument,
                        "{}.type: found a namespace inside a namespace, expected a tool", at);
    }
    T9_TRY(add(tool, at, name, place, added));
  }
  return {};
}

void ResponseTools::skip(const std::string& type, const std::string& where) {
  warnings_.push_back(fmt::format(
      "{}: tools of type \"{}\" are not served here; the model was not told of it", where, type));
}

bool ResponseTools::declare(const chat::Tool& tool, ToolOrigin origin) {
  return origins_.emplace(tool.name, std::move(origin)).second;
}

ToolOrigin ResponseTools::origin(const std::string& visible) const {
  if (const auto exact = origins_.find(visible); exact != origins_.end()) return exact->second;
  const ToolOrigin* only = nullptr;
  int n_bare = 0;
  for (const auto& [name, origin] : origins_) {
    if (origin.name_space.empty()) continue;
    for (const char* joint : {".", "/", ":", "::", "_", "-"}) {
      if (visible == origin.name_space + joint + origin.name) return origin;
    }
    if (visible == origin.name) {
      only = &origin;
      ++n_bare;
    }
  }
  if (n_bare == 1) return *only;
  return {ToolOrigin::Kind::kFunction, visible, {}};
}

}  // namespace tempo9::server::openai
