// system and messages of the Messages API to chat messages.
#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "server/chat_job.h"
#include "server/dialects/anthropic.h"

namespace tempo9::server::anthropic {
namespace {

constexpr std::string_view kBillingKey = "x-anthropic-billing-header:";
constexpr std::string_view kSignature = "tempo9:";

template <typename... Args>
Error invalid(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "{}: {}", where,
                    fmt::format(format, std::forward<Args>(args)...));
}

Result<std::string> read_type(const Json& block, const std::string& where) {
  if (!block.is_object())
    return invalid(where, "found {}, expected a content block", describe(block));
  return needed_string_at(block, "type", where);
}

// What stands between blocks that are no plain text and their neighbours.
void add_apart(std::string_view piece, std::string* text) {
  if (!text->empty() && !text->ends_with('\n')) *text += '\n';
  *text += piece;
  *text += '\n';
}

std::string without_billing(std::string text) {
  if (!text.starts_with(kBillingKey)) return text;
  const size_t end = text.find('\n');
  return end == std::string::npos ? std::string() : text.substr(end + 1);
}

struct Reader {
  const std::vector<chat::Tool>& deferred;
  std::vector<chat::Message> out = {};
  std::vector<std::pair<std::string, std::string>> calls = {};  // id, name

  // One block that is neither text nor a call nor thinking. in_newest: a picture here is what the
  // user asks about.
  Status add_other(const Json& block, const std::string& type, const std::string& where,
                   bool in_newest, std::string* text) {
    if (type == "document" || type == "search_result") {
      T9_TRY(const std::string found, document_text(block, type, where));
      if (!found.empty()) {
        add_apart(found, text);
        return {};
      }
    }
    if (type == "tool_reference") {
      T9_TRY(const std::string name, needed_string_at(block, "tool_name", where));
      add_apart(reference_text(name), text);
      return {};
    }
    if (in_newest) {
      return make_error(ErrorCode::kUnsupported,
                        "{}: found a block of type \"{}\", but the loaded model takes text only",
                        where, type);
    }
    add_apart(media_note(type), text);
    return {};
  }

  // Empty: not text (a PDF, a file, a URL).
  static Result<std::string> document_text(const Json& block, const std::string& type,
                                           const std::string& where) {
    T9_TRY(const std::string title, string_at(block, "title", where));
    std::string text;
    const Json* content = nullptr;
    if (type == "search_result") {
      T9_TRY(const std::string source, string_at(block, "source", where));
      text = source;
      if (block.contains("content")) content = &block["content"];
    } else if (block.contains("source") && block["source"].is_object()) {
      const Json& source = block["source"];
      T9_TRY(const std::string kind, needed_string_at(source, "type", where + ".source"));
      if (kind == "text") {
        T9_TRY(text, needed_string_at(source, "data", where + ".source"));
      } else if (kind == "content" && source.contains("content")) {
        content = &source["content"];
      }
    }
    if (content != nullptr && content->is_string()) add_apart(content->get<std::string>(), &text);
    if (content != nullptr && content->is_array()) {
      for (const Json& part : *content) {
        const bool is_text = part.is_object() && part.contains("text") && part["text"].is_string();
        if (is_text) add_apart(part["text"].get<std::string>(), &text);
      }
    }
    if (text.empty() || title.empty()) return text;
    return fmt::format("{}\n{}", title, text);
  }

  std::string reference_text(const std::string& name) const {
    const auto tool = std::find_if(deferred.begin(), deferred.end(),
                                   [&name](const chat::Tool& t) { return t.name == name; });
    if (tool == deferred.end()) return fmt::format("[tool {}]", name);
    return fmt::format("The tool {} can be called from now on:\n{}", name, dump(tool->raw));
  }

  // A string, or blocks of text and what may stand beside them.
  Result<std::string> read_text(const Json& content, const std::string& where, bool text_only) {
    if (content.is_string()) return content.get<std::string>();
    if (content.is_null()) return std::string();
    if (!content.is_array()) {
      return invalid(where, "found {}, expected a string or an array of content blocks",
                     describe(content));
    }
    std::string text;
    for (size_t i = 0; i < content.size(); ++i) {
      const std::string at = fmt::format("{}[{}]", where, i);
      T9_TRY(const std::string type, read_type(content[i], at));
      if (type == "text") {
        T9_TRY(const std::string piece, needed_string_at(content[i], "text", at));
        text += piece;
      } else if (text_only) {
        return invalid(at + ".type", "found \"{}\", expected \"text\"", type);
      } else {
        T9_TRY(add_other(content[i], type, at, /*in_newest=*/false, &text));
      }
    }
    return text;
  }

  Status read_system(const Json& system) {
    std::string text;
    if (system.is_array()) {
      for (size_t i = 0; i < system.size(); ++i) {
        const std::string at = fmt::format("system[{}]", i);
        T9_TRY(const std::string type, read_type(system[i], at));
        if (type != "text") return invalid(at + ".type", "found \"{}\", expected \"text\"", type);
        T9_TRY(std::string block, needed_string_at(system[i], "text", at));
        text += without_billing(std::move(block));
      }
    } else {
      T9_TRY(text, read_text(system, "system", true));
      text = without_billing(std::move(text));
    }
    if (!text.empty()) add("system", std::move(text));
    return {};
  }

  void add(std::string role, std::string text) {
    chat::Message message;
    message.role = std::move(role);
    message.text = std::move(text);
    out.push_back(std::move(message));
  }

  Status read_result(const Json& block, const std::string& where) {
    chat::Message message;
    message.role = "tool";
    T9_TRY(message.tool_call_id, string_at(block, "tool_use_id", where));
    for (const auto& [id, name] : calls) {
      if (id == message.tool_call_id) message.name = name;
    }
    if (block.contains("content")) {
      T9_TRY(message.text, read_text(block["content"], where + ".content", false));
    }
    bool is_error = false;
    Fields fields(block, where + ".");
    fields.read("is_error", &is_error);
    T9_TRY(fields.status());
    if (is_error && !message.text.starts_with("Error"))
      message.text = fmt::format("Error: {}", message.text);
    out.push_back(std::move(message));
    return {};
  }

  // Results and the text between them, in their order.
  Status read_user(const Json& content, const std::string& where, bool newest) {
    if (!content.is_array()) {
      T9_TRY(std::string text, read_text(content, where, false));
      add("user", std::move(text));
      return {};
    }
    const bool has_results = std::any_of(content.begin(), content.end(), [](const Json& block) {
      return block.is_object() && block.value("type", Json()) == "tool_result";
    });
    std::string text;
    const auto flush = [&] {
      if (!text.empty()) add("user", std::exchange(text, {}));
    };
    for (size_t i = 0; i < content.size(); ++i) {
      const Json& block = content[i];
      const std::string at = fmt::format("{}[{}]", where, i);
      T9_TRY(const std::string type, read_type(block, at));
      if (type == "tool_result") {
        flush();
        T9_TRY(read_result(block, at));
      } else if (type == "text") {
        T9_TRY(const std::string piece, needed_string_at(block, "text", at));
        text += piece;
      } else {
        // Beside results a picture is a tool's.
        T9_TRY(add_other(block, type, at, newest && !has_results, &text));
      }
    }
    flush();
    if (content.empty()) add("user", "");
    return {};
  }

  Status read_call(const Json& block, const std::string& where, chat::Message* message) {
    chat::ToolCall call;
    T9_TRY(call.id, string_at(block, "id", where));
    T9_TRY(call.name, needed_string_at(block, "name", where));
    const auto input = block.find("input");
    if (input == block.end() || input->is_null()) {
      call.arguments = Json::object();
    } else if (input->is_object() || input->is_string()) {
      call.arguments = *input;
    } else {
      return invalid(where + ".input", "found {}, expected an object", describe(*input));
    }
    calls.emplace_back(call.id, call.name);
    message->tool_calls.push_back(std::move(call));
    return {};
  }

  Status read_assistant(const Json& content, const std::string& where) {
    chat::Message message;
    message.role = "assistant";
    if (!content.is_array()) {
      T9_TRY(message.text, read_text(content, where, false));
      out.push_back(std::move(message));
      return {};
    }
    for (size_t i = 0; i < content.size(); ++i) {
      const Json& block = content[i];
      const std::string at = fmt::format("{}[{}]", where, i);
      T9_TRY(const std::string type, read_type(block, at));
      if (type == "text") {
        T9_TRY(const std::string piece, needed_string_at(block, "text", at));
        message.text += piece;
      } else if (type == "thinking") {
        T9_TRY(const std::string thinking, read_thinking(block, at));
        if (!message.reasoning_content.empty() && !thinking.empty())
          message.reasoning_content += "\n\n";
        message.reasoning_content += thinking;
      } else if (type == "tool_use") {
        T9_TRY(read_call(block, at, &message));
      }
      // What another vendor's servers did and wrote (their searches, encrypted thinking) means
      // nothing to this model.
    }
    message.content_null = message.text.empty() && !message.tool_calls.empty();
    out.push_back(std::move(message));
    return {};
  }

  static Result<std::string> read_thinking(const Json& block, const std::string& where) {
    T9_TRY(std::string thinking, string_at(block, "thinking", where));
    T9_TRY(const std::string signature, string_at(block, "signature", where));
    if (thinking.empty() && signature.starts_with(kSignature)) {
      auto hidden = decode_base64(std::string_view(signature).substr(kSignature.size()));
      if (hidden && find_invalid_utf8(*hidden) == std::string_view::npos) thinking = *hidden;
    }
    return thinking;
  }

  Status read_all(const Json& messages) {
    size_t newest = messages.size();
    for (size_t i = 0; i < messages.size(); ++i) {
      const std::string where = fmt::format("messages[{}]", i);
      if (!messages[i].is_object())
        return invalid(where, "found {}, expected a message", describe(messages[i]));
      T9_TRY(const std::string role, needed_string_at(messages[i], "role", where));
      if (role == "user") newest = i;
      if (role != "user" && role != "assistant" && role != "system") {
        return invalid(where + ".role", "found {}, expected user, assistant or system",
                       dump(Json(role)));
      }
      if (!messages[i].contains("content")) {
        return invalid(where + ".content",
                       "found nothing, expected a string or an array of content blocks");
      }
    }
    for (size_t i = 0; i < messages.size(); ++i) {
      const std::string where = fmt::format("messages[{}].content", i);
      const Json& content = messages[i]["content"];
      const auto& role = messages[i]["role"].get_ref<const std::string&>();
      if (role == "user") {
        T9_TRY(read_user(content, where, i == newest));
      } else if (role == "assistant") {
        T9_TRY(read_assistant(content, where));
      } else {
        T9_TRY(std::string text, read_text(content, where, true));
        add("system", std::move(text));
      }
    }
    return {};
  }
};

}  // namespace

Result<std::vector<chat::Message>> read_messages(const Json* system, const Json* messages,
                                                 const std::vector<chat::Tool>& deferred) {
  if (messages == nullptr || !messages->is_array() || messages->empty()) {
    return invalid("messages", "found {}, expected an array of at least one message",
                   messages == nullptr ? "nothing" : describe(*messages));
  }
  Reader reader{deferred};
  if (system != nullptr) T9_TRY(reader.read_system(*system));
  T9_TRY(reader.read_all(*messages));
  return std::move(reader.out);
}

std::string sign_thinking(std::string_view thinking, bool omitted) {
  return fmt::format("{}{}", kSignature, omitted ? encode_base64(thinking) : "");
}

}  // namespace tempo9::server::anthropic
