#include "chat/message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "chat/exact_json.h"

namespace tempo9::chat {

std::string Message::joined_text() const {
  if (parts.empty()) return text;
  std::string out;
  for (const ContentPart& part : parts) out += part.text;
  return out;
}

bool Message::has_parts_beside_text() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const ContentPart& part) { return part.type != "text"; });
}

namespace {

template <typename... Args>
Error invalid(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "{}: {}", where,
                    fmt::format(format, std::forward<Args>(args)...));
}

// A number that keeps its digits is no other type to whoever sent it.
std::string_view type_name(const Json& value) {
  return exact_number(value) != nullptr ? "number" : value.type_name();
}

Result<std::string> string_field(const Json& object, const char* key, const std::string& where) {
  auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::string();
  if (!it->is_string())
    return invalid(where + "." + key, "found {}, expected a string", type_name(*it));
  return it->get<std::string>();
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

Result<ContentPart> part_from_json(const Json& value, const std::string& where) {
  ContentPart part;
  if (value.is_string()) {
    part.type = "text";
    part.text = value.get<std::string>();
    part.raw = {{"type", "text"}, {"text", part.text}};
    return part;
  }
  if (!value.is_object()) return invalid(where, "found {}, expected an object", type_name(value));
  T9_TRY(part.type, string_field(value, "type", where));
  if (part.type.empty() && value.contains("text")) part.type = "text";
  if (part.type == "input_text" || part.type == "output_text") part.type = "text";
  if (part.type.empty())
    return invalid(where + ".type", "missing; expected \"text\" or another kind of part");
  part.raw = value;
  part.raw.erase("cache_control");
  if (part.type == "refusal") {
    // What the assistant said in place of an answer.
    T9_TRY(part.text, string_field(value, "refusal", where));
    part.type = "text";
    part.raw = {{"type", "text"}, {"text", part.text}};
  } else if (part.type == "text") {
    part.raw["type"] = "text";
    if (!value.contains("text")) return invalid(where + ".text", "missing");
    T9_TRY(part.text, string_field(value, "text", where));
  }
  return part;
}

Result<ToolCall> call_from_json(const Json& value, const std::string& where) {
  if (!value.is_object()) return invalid(where, "found {}, expected an object", type_name(value));
  ToolCall call;
  T9_TRY(call.id, string_field(value, "id", where));
  if (auto custom = value.find("custom"); custom != value.end() && custom->is_object()) {
    // A custom tool's call: one text in place of arguments.
    T9_TRY(call.name, string_field(*custom, "name", where + ".custom"));
    if (call.name.empty())
      return invalid(where + ".custom.name", "missing; expected the name of the tool");
    T9_TRY(std::string input, string_field(*custom, "input", where + ".custom"));
    call.arguments = {{"input", std::move(input)}};
    return call;
  }
  bool nested = value.contains("function");
  const Json& function = nested ? value.at("function") : value;
  std::string at = nested ? where + ".function" : where;
  if (!function.is_object())
    return invalid(at, "found {}, expected an object", type_name(function));
  T9_TRY(call.name, string_field(function, "name", at));
  if (call.name.empty())
    return invalid(at + ".name", "missing; expected the name of the tool that was called");
  auto arguments = function.find("arguments");
  if (arguments == function.end() || arguments->is_null()) {
    call.arguments = Json::object();
  } else if (arguments->is_string() && is_blank(arguments->get_ref<const std::string&>())) {
    // What clients that join a stream's pieces keep of a call without arguments.
    call.arguments = Json::object();
  } else if (arguments->is_string() || arguments->is_object()) {
    call.arguments = *arguments;
  } else {
    return invalid(at + ".arguments", "found {}, expected an object or its JSON text",
                   type_name(*arguments));
  }
  return call;
}

Status read_content(const Json& value, const std::string& where, Message* message) {
  auto content = value.find("content");
  if (content == value.end() || content->is_null()) {
    message->content_null = true;
  } else if (content->is_string()) {
    message->text = content->get<std::string>();
  } else if (content->is_array()) {
    for (size_t i = 0; i < content->size(); ++i) {
      T9_TRY(ContentPart part,
             part_from_json((*content)[i], fmt::format("{}.content[{}]", where, i)));
      message->parts.push_back(std::move(part));
    }
  } else {
    return invalid(where + ".content", "found {}, expected a string, an array of parts or null",
                   type_name(*content));
  }
  return {};
}

}  // namespace

Tool function_tool(std::string name, std::string description, Json parameters) {
  Json function = {{"name", name}};
  if (!description.empty()) function["description"] = description;
  function["parameters"] = parameters;
  return {.name = std::move(name),
          .description = std::move(description),
          .parameters = std::move(parameters),
          .raw = {{"type", "function"}, {"function", std::move(function)}}};
}

Result<Message> message_from_json(const Json& value, const std::string& where) {
  if (!value.is_object()) return invalid(where, "found {}, expected an object", type_name(value));
  Message message;
  T9_TRY(message.role, string_field(value, "role", where));
  if (message.role.empty())
    return invalid(where + ".role", "missing; expected system, user, assistant or tool");
  T9_TRY(read_content(value, where, &message));
  T9_TRY(message.reasoning_content, string_field(value, "reasoning_content", where));
  // Other names that clients send it back under.
  for (const char* key : {"reasoning", "thinking"}) {
    const auto other = value.find(key);
    if (message.reasoning_content.empty() && other != value.end() && other->is_string())
      message.reasoning_content = other->get<std::string>();
  }
  T9_TRY(message.tool_call_id, string_field(value, "tool_call_id", where));
  T9_TRY(message.name, string_field(value, "name", where));
  if (auto calls = value.find("tool_calls"); calls != value.end() && !calls->is_null()) {
    if (!calls->is_array())
      return invalid(where + ".tool_calls", "found {}, expected an array", type_name(*calls));
    for (size_t i = 0; i < calls->size(); ++i) {
      T9_TRY(ToolCall call,
             call_from_json((*calls)[i], fmt::format("{}.tool_calls[{}]", where, i)));
      message.tool_calls.push_back(std::move(call));
    }
  }
  if (auto call = value.find("function_call"); call != value.end() && !call->is_null()) {
    // The only call of a message, before there were tool_calls.
    T9_TRY(ToolCall only, call_from_json(*call, where + ".function_call"));
    message.tool_calls.push_back(std::move(only));
  }
  constexpr std::array<std::string_view, 8> kKnown = {
      "role",         "content", "reasoning_content", "tool_calls",
      "tool_call_id", "name",    "function_call",     "cache_control"};
  for (const auto& [key, field] : value.items()) {
    if (key != "cache_control") message.keys.push_back(key);
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) message.extra[key] = field;
  }
  return message;
}

Result<std::vector<Message>> messages_from_json(const Json& value) {
  if (!value.is_array())
    return invalid("messages", "found {}, expected an array of messages", type_name(value));
  if (value.empty()) return invalid("messages", "empty; expected at least one message");
  std::vector<Message> messages;
  for (size_t i = 0; i < value.size(); ++i) {
    T9_TRY(Message message, message_from_json(value[i], fmt::format("messages[{}]", i)));
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<std::vector<Tool>> tools_from_json(const Json& value) {
  std::vector<Tool> tools;
  if (value.is_null()) return tools;
  if (!value.is_array())
    return invalid("tools", "found {}, expected an array or null", type_name(value));
  for (size_t i = 0; i < value.size(); ++i) {
    const Json& entry = value[i];
    std::string where = fmt::format("tools[{}]", i);
    if (!entry.is_object()) return invalid(where, "found {}, expected an object", type_name(entry));
    T9_TRY(std::string type, string_field(entry, "type", where));
    if (!type.empty() && type != "function") continue;
    bool nested = entry.contains("function");
    const Json& function = nested ? entry.at("function") : entry;
    if (nested) where += ".function";
    if (!function.is_object())
      return invalid(where, "found {}, expected an object", type_name(function));
    Tool tool;
    T9_TRY(tool.name, string_field(function, "name", where));
    if (tool.name.empty())
      return invalid(where + ".name", "missing; expected the name of the function");
    T9_TRY(tool.description, string_field(function, "description", where));
    if (auto parameters = function.find("parameters");
        parameters != function.end() && !parameters->is_null()) {
      if (!parameters->is_object()) {
        return invalid(where + ".parameters", "found {}, expected a JSON Schema object",
                       type_name(*parameters));
      }
      tool.parameters = *parameters;
    }
    if (nested) {
      tool.raw = entry;
    } else {
      Json bare = entry;
      bare.erase("type");
      tool.raw = {{"type", "function"}, {"function", std::move(bare)}};
    }
    tool.raw.erase("cache_control");
    tool.raw["function"].erase("cache_control");
    tools.push_back(std::move(tool));
  }
  return tools;
}

namespace {

// The object that holds a choice's details: value[key] if it is there, else value itself.
Result<const Json*> choice_details(const Json& value, const std::string& key,
                                   const std::string& where) {
  auto inner = value.find(key);
  if (inner == value.end()) return &value;
  if (!inner->is_object())
    return invalid(where + "." + key, "found {}, expected an object", type_name(*inner));
  return &*inner;
}

Result<std::string> named_tool(const Json& value, const std::string& type,
                               const std::string& where) {
  T9_TRY(const Json* details, choice_details(value, type, where));
  const std::string at = details == &value ? where : where + "." + type;
  T9_TRY(std::string name, string_field(*details, "name", at));
  if (name.empty()) return invalid(at + ".name", "missing; expected the name of a tool");
  return name;
}

Result<ToolChoice> allowed_tools(const Json& value) {
  const std::string key = "allowed_tools";
  T9_TRY(const Json* details, choice_details(value, key, "tool_choice"));
  const std::string at = details == &value ? "tool_choice" : "tool_choice." + key;
  ToolChoice choice;
  T9_TRY(const std::string mode, string_field(*details, "mode", at));
  if (mode == "required") {
    choice.kind = ToolChoice::Kind::kRequired;
  } else if (!mode.empty() && mode != "auto") {
    return invalid(at + ".mode", "found \"{}\", expected \"auto\" or \"required\"", mode);
  }
  auto tools = details->find("tools");
  if (tools == details->end() || !tools->is_array() || tools->empty())
    return invalid(at + ".tools", "found no tools, expected an array of at least one");
  for (size_t i = 0; i < tools->size(); ++i) {
    const Json& tool = (*tools)[i];
    const std::string where = fmt::format("{}.tools[{}]", at, i);
    if (!tool.is_object()) return invalid(where, "found {}, expected an object", type_name(tool));
    T9_TRY(const std::string type, string_field(tool, "type", where));
    if (!type.empty() && type != "function" && type != "custom") continue;  // hosted ones
    T9_TRY(std::string name, named_tool(tool, type.empty() ? "function" : type, where));
    choice.allowed.push_back(std::move(name));
  }
  if (choice.allowed.empty()) choice.kind = ToolChoice::Kind::kNone;
  return choice;
}

}  // namespace

Result<ToolChoice> tool_choice_from_json(const Json& value) {
  using Kind = ToolChoice::Kind;
  if (value.is_null()) return ToolChoice{};
  std::string word = value.is_string() ? value.get<std::string>() : std::string();
  if (value.is_object()) {
    T9_TRY(word, string_field(value, "type", "tool_choice"));
    if (word == "function" || word == "custom" || word == "tool") {
      T9_TRY(std::string name,
             named_tool(value, word == "custom" ? "custom" : "function", "tool_choice"));
      return ToolChoice{Kind::kNamed, std::move(name), {}};
    }
    if (word == "allowed_tools") return allowed_tools(value);
  }
  if (word == "auto") return ToolChoice{};
  if (word == "none") return ToolChoice{Kind::kNone, {}, {}};
  if (word == "required" || word == "any") return ToolChoice{Kind::kRequired, {}, {}};
  return invalid("tool_choice",
                 "found {}, expected \"auto\", \"none\", \"required\", a named function or "
                 "allowed_tools",
                 dump_exactly(value));
}

}  // namespace tempo9::chat
