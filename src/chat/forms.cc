#include "chat/forms.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "chat/exact_json.h"

namespace tempo9::chat {
namespace {

bool is_system(const Message& m) { return m.role == "system" || m.role == "developer"; }

Message text_message(std::string role, std::string text) {
  Message m;
  m.role = std::move(role);
  m.text = std::move(text);
  return m;
}

std::string joined(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  return a + "\n\n" + b;
}

// b's content behind a's. Parts stay parts, so that pictures keep their place.
void append_content(Message* a, const Message& b) {
  if (a->parts.empty() && b.parts.empty()) {
    a->text = joined(a->text, b.text);
  } else {
    auto as_parts = [](const Message& m) {
      if (!m.parts.empty() || m.text.empty()) return m.parts;
      return std::vector<ContentPart>{{"text", m.text, {{"type", "text"}, {"text", m.text}}}};
    };
    std::vector<ContentPart> parts = as_parts(*a), more = as_parts(b);
    if (!parts.empty() && !more.empty())
      parts.push_back({"text", "\n\n", {{"type", "text"}, {"text", "\n\n"}}});
    parts.insert(parts.end(), more.begin(), more.end());
    a->parts = std::move(parts);
    a->text.clear();
  }
  a->content_null = a->content_null && b.content_null;
  a->reasoning_content = joined(a->reasoning_content, b.reasoning_content);
}

// Call and result, in the words of the format that templates without tools are taught (see
// tools_in_system).
std::string call_text(const ToolCall& call) {
  Json arguments = call.arguments;
  if (arguments.is_string()) {
    std::optional<Json> parsed = parse_exactly(arguments.get_ref<const std::string&>());
    if (parsed && parsed->is_object()) arguments = std::move(*parsed);
  }
  const Json json = {{"name", call.name}, {"arguments", std::move(arguments)}};
  return fmt::format("<tool_call>\n{}\n</tool_call>", dump_exactly(json));
}

}  // namespace

Messages fold_late_systems(Messages messages) {
  bool leading = true;
  for (Message& m : messages) {
    if (leading && is_system(m)) continue;
    leading = false;
    if (!is_system(m)) continue;
    std::string text =
        fmt::format("[System message]\n{}\n[End of system message]", m.joined_text());
    m = text_message("user", std::move(text));
  }
  return messages;
}

Messages merge_turns(Messages messages) {
  Messages out;
  for (Message& m : messages) {
    bool joins = !out.empty() && out.back().role == m.role && m.role != "tool" &&
                 m.tool_calls.empty() && out.back().tool_calls.empty();
    if (joins)
      append_content(&out.back(), m);
    else
      out.push_back(std::move(m));
  }
  return out;
}

Messages fold_first_system(Messages messages) {
  std::string system;
  while (!messages.empty() && is_system(messages.front())) {
    system = joined(system, messages.front().joined_text());
    messages.erase(messages.begin());
  }
  if (system.empty()) return messages;
  Message folded = text_message("user", std::move(system));
  if (!messages.empty() && messages.front().role == "user") {
    append_content(&folded, messages.front());
    folded.name = messages.front().name;
    messages.erase(messages.begin());
  }
  messages.insert(messages.begin(), std::move(folded));
  return messages;
}

Messages split_calls(Messages messages) {
  Messages out;
  for (size_t i = 0; i < messages.size(); ++i) {
    Message& m = messages[i];
    if (m.tool_calls.size() < 2) {
      out.push_back(std::move(m));
      continue;
    }
    Messages results;
    while (i + 1 < messages.size() && messages[i + 1].role == "tool")
      results.push_back(std::move(messages[++i]));
    for (size_t c = 0; c < m.tool_calls.size(); ++c) {
      Message one = text_message(m.role, "");
      one.content_null = true;
      if (c == 0) {
        one = m;
        one.tool_calls.clear();
      }
      one.tool_calls.push_back(m.tool_calls[c]);
      out.push_back(std::move(one));
      auto result = std::find_if(results.begin(), results.end(), [&](const Message& r) {
        return !r.tool_call_id.empty() && r.tool_call_id == m.tool_calls[c].id;
      });
      if (result == results.end() && !results.empty()) result = results.begin();
      if (result == results.end()) continue;
      out.push_back(std::move(*result));
      results.erase(result);
    }
    for (Message& rest : results) out.push_back(std::move(rest));
  }
  return out;
}

Messages text_in_thinking(Messages messages) {
  for (Message& m : messages) {
    if (m.tool_calls.empty() || m.reasoning_content.empty()) continue;
    m.reasoning_content = joined(m.reasoning_content, m.joined_text());
    m.text.clear();
    m.parts.clear();
  }
  return messages;
}

Messages calls_as_text(Messages messages) {
  for (Message& m : messages) {
    if (m.role == "tool") {
      std::string text = fmt::format("<tool_response>\n{}\n</tool_response>", m.joined_text());
      m = text_message("user", std::move(text));
      continue;
    }
    if (m.tool_calls.empty()) continue;
    std::string text = m.joined_text();
    for (const ToolCall& call : m.tool_calls) {
      if (!text.empty()) text += "\n";
      text += call_text(call);
    }
    Message plain = text_message(m.role, std::move(text));
    plain.reasoning_content = m.reasoning_content;
    m = std::move(plain);
  }
  return messages;
}

Messages lead_with_user(Messages messages) {
  auto first = std::find_if(messages.begin(), messages.end(),
                            [](const Message& m) { return !is_system(m); });
  if (first != messages.end() && first->role != "user")
    messages.insert(first, text_message("user", "(continued)"));
  return messages;
}

Messages short_call_ids(Messages messages) {
  auto shorten = [](std::string* id) {
    bool fine = id->size() == 9 && std::all_of(id->begin(), id->end(), [](unsigned char c) {
                  return std::isalnum(c) != 0;
                });
    if (fine) return;
    uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
    for (unsigned char c : *id) hash = (hash ^ c) * 0x100000001B3ULL;
    constexpr std::string_view kAlphabet =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    id->clear();
    for (int i = 0; i < 9; ++i, hash /= kAlphabet.size()) *id += kAlphabet[hash % kAlphabet.size()];
  };
  for (Message& m : messages) {
    for (ToolCall& call : m.tool_calls) shorten(&call.id);
    if (m.role == "tool") shorten(&m.tool_call_id);
  }
  return messages;
}

Messages tools_in_system(Messages messages, const std::vector<Tool>& tools) {
  std::string text = "You can call these functions, one JSON Schema a line:\n<tools>\n";
  for (const Tool& tool : tools) text += dump_exactly(tool.raw) + "\n";
  text +=
      "</tools>\nTo call one, answer only with its name and arguments as JSON in this form:\n"
      "<tool_call>\n{\"name\": \"the name\", \"arguments\": {\"parameter\": "
      "\"value\"}}\n</tool_call>";
  if (!messages.empty() && is_system(messages.front())) {
    append_content(&messages.front(), text_message("system", std::move(text)));
  } else {
    messages.insert(messages.begin(), text_message("system", std::move(text)));
  }
  return messages;
}

}  // namespace tempo9::chat
