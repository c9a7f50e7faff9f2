#include "server/dialects/openai_responses_input.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "server/custom_tool.h"
#include "server/json_body.h"

namespace tempo9::server::openai {
namespace {

using chat::ContentPart;
using chat::Message;

constexpr std::string_view kOurs = "t9r1.";

bool is_text_type(std::string_view type) {
  constexpr std::array<std::string_view, 5> kTexts = {"text", "input_text", "output_text",
                                                      "summary_text", "reasoning_text"};
  return std::find(kTexts.begin(), kTexts.end(), type) != kTexts.end();
}

Result<ContentPart> read_part(const Json& value, const std::string& where) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    return ContentPart{"text", text, {{"type", "text"}, {"text", text}}};
  }
  if (!value.is_object()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected an object", where,
                      describe(value));
  }
  T9_TRY(const std::string type, string_at(value, "type", where));
  if (is_text_type(type) || type == "refusal") {
    const char* key = type == "refusal" ? "refusal" : "text";
    if (!value.contains(key)) {
      return make_error(ErrorCode::kInvalidArgument, "{}.{}: found nothing, expected a string",
                        where, key);
    }
    T9_TRY(const std::string text, string_at(value, key, where));
    return ContentPart{"text", text, {{"type", "text"}, {"text", text}}};
  }
  for (const char* media : {"input_image", "input_file", "input_audio", "input_video",
                            "computer_screenshot", "image_url"}) {
    if (type != media) continue;
    const bool picture = type == "computer_screenshot";
    return ContentPart{picture ? "input_image" : type, "", value};
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "{}.type: found {}, expected input_text, output_text, refusal, input_image, "
                    "input_file or input_audio",
                    where, dump(Json(type)));
}

// A string, an array of parts, or nothing.
Status read_content(const Json& value, const std::string& where, Message* message) {
  if (value.is_null()) return {};
  if (value.is_string()) {
    message->text = value.get<std::string>();
    return {};
  }
  if (!value.is_array()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected a string or an array",
                      where, describe(value));
  }
  for (size_t i = 0; i < value.size(); ++i) {
    T9_TRY(ContentPart part, read_part(value[i], fmt::format("{}[{}]", where, i)));
    message->parts.push_back(std::move(part));
  }
  return {};
}

std::string join_texts(const Json& parts) {
  std::string text;
  if (!parts.is_array()) return text;
  for (const Json& part : parts) {
    if (part.is_object() && field_of(part, "text").is_string())
      text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

}  // namespace

std::string encode_reasoning(const std::string& text) {
  return fmt::format("{}{}", kOurs, encode_base64(text, Base64::kUrl));
}

std::optional<std::string> decode_reasoning(const std::string& encrypted) {
  if (!encrypted.starts_with(kOurs)) return std::nullopt;
  auto text = decode_base64(std::string_view(encrypted).substr(kOurs.size()), Base64::kUrl);
  if (text && find_invalid_utf8(*text) != std::string_view::npos) return std::nullopt;
  return text;
}

Status ItemReader::read(const Json& item, const std::string& where) {
  if (!item.is_object()) {
    return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected an object", where,
                      describe(item));
  }
  T9_TRY(std::string type, string_at(item, "type", where));
  if (type.empty() && item.contains("role")) type = "message";
  if (type.empty() && item.contains("id")) type = "item_reference";
  if (type != "item_reference") return read_as(type, item, where);

  T9_TRY(const std::string id, string_at(item, "id", where));
  const Json* found = lookup_ ? lookup_(id) : nullptr;
  if (found == nullptr) {
    return make_error(
        ErrorCode::kNotFound,
        "{}.id: found {}, which is no item of a stored response; send the item itself", where,
        dump(Json(id)));
  }
  T9_TRY(type, string_at(*found, "type", where));
  return read_as(type, *found, where);
}

Status ItemReader::read_as(const std::string& type, const Json& item, const std::string& where) {
  if (type == "message") return read_message(item, where);
  if (type == "reasoning") return read_reasoning(item, where);
  if (type == "function_call" || type == "custom_tool_call") return read_function_call(item, where);
  if (type == "function_call_output" || type == "custom_tool_call_output" ||
      type == "local_shell_call_output" || type == "shell_call_output" ||
      type == "apply_patch_call_output") {
    return read_output(item, where, item.contains("output") ? "output" : "status");
  }
  if (type == "local_shell_call") return read_named_call(item, where, "local_shell", "action");
  if (type == "shell_call") return read_named_call(item, where, "shell", "action");
  if (type == "apply_patch_call") return read_named_call(item, where, "apply_patch", "operation");
  if (type == "tool_search_call") return read_named_call(item, where, "tool_search", "arguments");
  if (type == "tool_search_output") return read_loaded_tools(item, where, true);
  if (type == "additional_tools") return read_loaded_tools(item, where, false);
  if (type == "mcp_call") return read_mcp_call(item, where);
  // What only the service that made it can read, or what tells the model nothing.
  constexpr std::array<std::string_view, 18> kSkipped = {
      "web_search_call",       "file_search_call",
      "computer_call",         "computer_call_output",
      "code_interpreter_call", "image_generation_call",
      "mcp_list_tools",        "mcp_approval_request",
      "mcp_approval_response", "compaction",
      "compaction_summary",    "compaction_trigger",
      "context_compaction",    "ghost_snapshot",
      "configuration_update",  "program",
      "program_output",        "other"};
  if (std::find(kSkipped.begin(), kSkipped.end(), type) != kSkipped.end()) {
    warn_skipped(type, where);
    return {};
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "{}.type: found {}, expected message, reasoning, function_call, "
                    "function_call_output, custom_tool_call, custom_tool_call_output, "
                    "item_reference or another item of the Responses API",
                    where, dump(Json(type)));
}

Status ItemReader::read_message(const Json& item, const std::string& where) {
  T9_TRY(const std::string role, string_at(item, "role", where));
  if (role == "assistant") return read_assistant(item, where);
  if (role != "user" && role != "system" && role != "developer") {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.role: found {}, expected user, assistant, system or developer", where,
                      item.contains("role") ? describe(item["role"]) : "nothing");
  }
  Message message;
  message.role = role;
  T9_TRY(read_content(field_of(item, "content"), where + ".content", &message));
  messages_.push_back(std::move(message));
  open_ = false;
  return {};
}

Status ItemReader::read_assistant(const Json& item, const std::string& where) {
  Message read;
  T9_TRY(read_content(field_of(item, "content"), where + ".content", &read));
  if (read.has_parts_beside_text()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.content: found a part that is no text in an assistant message", where);
  }
  // A second text without a call between is a turn of its own.
  if (open_ && !messages_.back().text.empty() && messages_.back().tool_calls.empty()) open_ = false;
  assistant().text += read.joined_text();
  return {};
}

Status ItemReader::read_reasoning(const Json& item, const std::string& where) {
  std::string text = join_texts(field_of(item, "content"));
  if (text.empty()) text = join_texts(field_of(item, "summary"));
  if (text.empty()) {
    T9_TRY(const std::string encrypted, string_at(item, "encrypted_content", where));
    text = decode_reasoning(encrypted).value_or("");
  }
  if (text.empty()) return {};
  if (open_ && !messages_.back().text.empty() && messages_.back().tool_calls.empty()) open_ = false;
  assistant().reasoning_content += text;
  return {};
}

Status ItemReader::read_function_call(const Json& item, const std::string& where) {
  T9_TRY(const std::string type, string_at(item, "type", where));
  T9_TRY(const std::string name, string_at(item, "name", where));
  if (name.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.name: found nothing, expected the name of the tool that was called",
                      where);
  }
  T9_TRY(const std::string name_space, string_at(item, "namespace", where));
  T9_TRY(std::string id, string_at(item, "call_id", where));
  Json arguments = Json::object();
  if (type == "custom_tool_call") {
    T9_TRY(std::string input, string_at(item, "input", where));
    arguments = custom_arguments(std::move(input));
  } else if (const Json& given = field_of(item, "arguments"); given.is_object()) {
    arguments = given;
  } else if (!given.is_null()) {
    T9_TRY(const std::string text, string_at(item, "arguments", where));
    if (!text.empty()) arguments = text;
  }
  add_call(std::move(id), ResponseTools::visible_name(name_space, name), std::move(arguments));
  return {};
}

// Calls whose type says the tool.
Status ItemReader::read_named_call(const Json& item, const std::string& where, const char* name,
                                   const char* arguments_key) {
  T9_TRY(std::string id, string_at(item, "call_id", where));
  Json arguments = field_of(item, arguments_key);
  if (arguments.is_object()) arguments.erase("type");
  if (!arguments.is_object() && !arguments.is_string()) arguments = Json::object();
  add_call(std::move(id), name, std::move(arguments));
  return {};
}

Status ItemReader::read_output(const Json& item, const std::string& where, const char* key) {
  Message message;
  message.role = "tool";
  T9_TRY(message.tool_call_id, string_at(item, "call_id", where));
  if (message.tool_call_id.empty()) {
    T9_TRY(message.tool_call_id, string_at(item, "id", where));
  }
  const Json& output = field_of(item, key);
  const bool is_shell = field_of(item, "type") == "shell_call_output";
  if (is_shell || output.is_object() || output.is_number() || output.is_boolean()) {
    message.text = dump(output);
  } else {
    T9_TRY(read_content(output, where + "." + key, &message));
  }
  messages_.push_back(std::move(message));
  open_ = false;
  return {};
}

Status ItemReader::read_loaded_tools(const Json& item, const std::string& where, bool is_output) {
  T9_TRY(std::string text, tools_.load(field_of(item, "tools"), where + ".tools"));
  Message message;
  message.role = is_output ? "tool" : "developer";
  message.text = std::move(text);
  if (is_output) {
    T9_TRY(message.tool_call_id, string_at(item, "call_id", where));
  }
  messages_.push_back(std::move(message));
  open_ = false;
  return {};
}

// A call and its result in one item.
Status ItemReader::read_mcp_call(const Json& item, const std::string& where) {
  T9_TRY(const std::string name, string_at(item, "name", where));
  T9_TRY(const std::string server, string_at(item, "server_label", where));
  T9_TRY(const std::string id, string_at(item, "id", where));
  T9_TRY(const std::string arguments, string_at(item, "arguments", where));
  add_call(id, ResponseTools::visible_name(server, name),
           arguments.empty() ? Json::object() : Json(arguments));
  Message message;
  message.role = "tool";
  message.tool_call_id = id;
  const Json& error = field_of(item, "error");
  const Json& output = error.is_null() ? field_of(item, "output") : error;
  message.text = output.is_string() ? output.get<std::string>() : dump(output);
  messages_.push_back(std::move(message));
  open_ = false;
  return {};
}

void ItemReader::add_call(std::string id, std::string name, Json arguments) {
  assistant().tool_calls.push_back({std::move(id), std::move(name), std::move(arguments)});
}

Message& ItemReader::assistant() {
  if (!open_) {
    messages_.emplace_back();
    messages_.back().role = "assistant";
    open_ = true;
  }
  return messages_.back();
}

void ItemReader::warn_skipped(const std::string& type, const std::string& where) {
  if (std::find(skipped_.begin(), skipped_.end(), type) != skipped_.end()) return;
  skipped_.push_back(type);
  warnings_.push_back(
      fmt::format("{}: items of type \"{}\" are not shown to the model", where, type));
}

}  // namespace tempo9::server::openai
