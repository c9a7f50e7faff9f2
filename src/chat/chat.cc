#include "chat/chat.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "chat/exact_json.h"
#include "chat/forms.h"
#include "chat/jinja/program.h"
#include "chat/parser.h"
#include "chat/parsers/plain.h"
#include "chat/stable.h"

namespace tempo9::chat {
namespace {

std::string_view stripped(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  size_t first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

std::vector<Segment> to_segments(const jinja::Text& text) {
  std::vector<Segment> segments;
  text.for_each_run([&](std::string_view run, bool outside) {
    segments.push_back({std::string(run), !outside});
  });
  return segments;
}

// Templates are written for arguments as objects; clients send them as JSON text.
Json arguments_json(const Json& arguments) {
  if (!arguments.is_string()) return arguments;
  std::optional<Json> parsed = parse_exactly(arguments.get_ref<const std::string&>());
  return parsed && parsed->is_object() ? std::move(*parsed) : arguments;
}

Json calls_json(const std::vector<ToolCall>& calls) {
  Json out = Json::array();
  for (const ToolCall& call : calls) {
    Json entry = Json::object();
    if (!call.id.empty()) entry["id"] = call.id;
    entry["type"] = "function";
    entry["function"] = {{"name", call.name}, {"arguments", arguments_json(call.arguments)}};
    out.push_back(std::move(entry));
  }
  return out;
}

Json content_json(const Message& m, bool takes_parts) {
  if (m.content_null) return nullptr;
  if (m.parts.empty()) return m.text;
  if (!takes_parts) return m.joined_text();
  Json parts = Json::array();
  for (const ContentPart& part : m.parts) parts.push_back(part.raw);
  return parts;
}

// No value for a field that the message does not have.
Json field_json(const Message& m, std::string_view key, bool takes_parts) {
  if (key == "role") return m.role;
  if (key == "content") return content_json(m, takes_parts);
  if (key == "reasoning_content")
    return m.reasoning_content.empty() ? Json() : Json(m.reasoning_content);
  if (key == "tool_calls") return m.tool_calls.empty() ? Json() : calls_json(m.tool_calls);
  if (key == "tool_call_id") return m.tool_call_id.empty() ? Json() : Json(m.tool_call_id);
  if (key == "name") return m.name.empty() ? Json() : Json(m.name);
  auto extra = m.extra.find(std::string(key));
  return extra == m.extra.end() ? Json() : *extra;
}

Json message_json(const Message& m, bool takes_parts) {
  Json out = Json::object();
  auto add = [&](const std::string& key) {
    if (out.contains(key)) return;
    bool keeps_null = key == "content" || m.extra.contains(key);
    Json value = field_json(m, key, takes_parts);
    if (!value.is_null() || keeps_null) out[key] = std::move(value);
  };
  for (const std::string& key : m.keys) add(key);
  bool content_absent = !m.keys.empty() && m.content_null && !out.contains("content");
  for (const char* key :
       {"role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name"}) {
    if (!(content_absent && std::string_view(key) == "content")) add(key);
  }
  for (const auto& [key, value] : m.extra.items()) add(key);
  return out;
}

// Did some text that the model must see get lost? Templates may leave out old thinking, and write
// results as JSON.
bool dropped_text(const std::vector<Message>& messages, const std::string& prompt) {
  size_t at = 0;  // texts mostly stand in their order, so the search goes on from the last one
  auto lost = [&](std::string_view text) {
    size_t found = prompt.find(stripped(text), at);
    if (found == std::string::npos) return prompt.find(stripped(text)) == std::string::npos;
    at = found;
    return false;
  };
  return std::any_of(messages.begin(), messages.end(), [&](const Message& m) {
    if (std::any_of(m.tool_calls.begin(), m.tool_calls.end(),
                    [&](const ToolCall& c) { return lost(c.name); }))
      return true;
    if (m.role == "assistant" || m.role == "tool") return false;
    if (m.parts.empty()) return lost(m.text);
    return std::any_of(m.parts.begin(), m.parts.end(),
                       [&](const ContentPart& p) { return lost(p.text); });
  });
}

// Cuts the prompt behind the last message's text, so that the reply goes on from there.
Result<std::vector<Segment>> cut_at_final(std::vector<Segment> segments, const Message& last) {
  std::string text = last.joined_text(), prompt = join_segments(segments);
  size_t at = prompt.rfind(stripped(text));
  if (stripped(text).empty() || at == std::string::npos) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "the last message cannot be continued: the chat template does not print its text as it is");
  }
  size_t end =
      at + (prompt.compare(at, text.size(), text) == 0 ? text.size() : stripped(text).size());
  size_t seen = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (seen + segments[i].text.size() < end) {
      seen += segments[i].text.size();
      continue;
    }
    segments[i].text.resize(end - seen);
    segments.resize(i + 1);
  }
  return segments;
}

// Templates name their switches differently: whichever the request sets, all that mean the same are
// set, unless the request sets them too.
Json all_switches(const std::string& source, Json kwargs) {
  const auto mentions = [&source](std::string_view word) {
    return source.find(word) != std::string::npos;
  };
  constexpr std::array<const char*, 2> kNames = {"enable_thinking", "thinking"};
  for (const char* from : kNames) {
    const auto value = kwargs.find(from);
    if (value == kwargs.end() || !value->is_boolean()) continue;
    const bool on = value->get<bool>();
    for (const char* to : kNames) {
      if (!kwargs.contains(to) && mentions(to)) kwargs[to] = on;
    }
    if (!on && !kwargs.contains("reasoning_effort") && mentions("reasoning_effort"))
      kwargs["reasoning_effort"] = "low";
    break;
  }
  if (const auto effort = kwargs.find("reasoning_effort");
      effort != kwargs.end() && effort->is_string() && mentions("reasoning_effort")) {
    // The three words that all templates know.
    if (*effort == "minimal" || *effort == "none") *effort = "low";
    if (*effort == "xhigh" || *effort == "max") *effort = "high";
  }
  return kwargs;
}

bool thinking_is_off(const Json& kwargs) {
  for (const char* name : {"enable_thinking", "thinking"}) {
    if (const auto value = kwargs.find(name); value != kwargs.end() && value->is_boolean())
      return !value->get<bool>();
  }
  return kwargs.contains("reasoning_effort") && kwargs["reasoning_effort"] == "none";
}

// A reply begins behind its thinking, which stays empty, if the template knows no switch.
void close_thinking(const std::string& source, std::vector<Segment>* segments) {
  if (segments->empty()) return;
  std::string end;
  if (const std::string_view mark = open_thinking(segments->back().text);
      segments->back().is_template && !mark.empty()) {
    end = fmt::format("{}{}\n\n", segments->back().text.ends_with('\n') ? "\n" : "", mark);
  } else if (source.find("<|start|>assistant") != std::string::npos) {
    end = "<|channel|>analysis<|message|><|end|><|start|>assistant";
  } else if (source.find("[THINK]") != std::string::npos) {
    end = "[THINK][/THINK]";
  } else if (source.find("enable_thinking") == std::string::npos &&
             source.find("<think>") != std::string::npos &&
             !stripped(segments->back().text).ends_with("</think>")) {
    end = "<think>\n\n</think>\n\n";
  }
  if (!end.empty()) segments->push_back({std::move(end), true});
}

// Clients send thinking back under one name; the template looks for its own.
void add_thinking(const std::string& source, const std::string& text, Json* message) {
  if (source.find("reasoning_content") != std::string::npos) return;
  for (const char* key : {"reasoning", "thinking"}) {
    const bool reads = source.find(std::string(".") + key) != std::string::npos ||
                       source.find(std::string("'") + key) != std::string::npos ||
                       source.find(std::string("\"") + key) != std::string::npos;
    if (reads && !message->contains(key)) (*message)[key] = text;
  }
}

Message simple_message(std::string role, std::string text) {
  Message m;
  m.role = std::move(role);
  m.text = std::move(text);
  return m;
}

}  // namespace

std::string join_segments(const std::vector<Segment>& segments) {
  std::string out;
  for (const Segment& segment : segments) out += segment.text;
  return out;
}

bool opens_thinking(const std::vector<Segment>& segments) {
  return !segments.empty() && segments.back().is_template &&
         ends_with_thinking_mark(segments.back().text);
}

Result<ChatTemplate> ChatTemplate::compile(std::string source, TemplateTokens tokens) {
  ChatTemplate out;
  out.source_ = std::move(source);
  out.tokens_ = std::move(tokens);
  if (out.source_.empty()) return out;
  Result<jinja::Program> program = jinja::Program::compile(out.source_);
  if (!program) {
    return make_error(ErrorCode::kInvalidArgument, "the chat template does not parse: {}",
                      program.error().message);
  }
  out.program_ = std::make_shared<const jinja::Program>(std::move(*program));
  out.probe();
  return out;
}

void ChatTemplate::probe() {
  auto mentions = [this](std::string_view word) { return source_.find(word) != std::string::npos; };
  traits_.thinking = mentions("<think>") || mentions("enable_thinking") ||
                     mentions("reasoning_content") || mentions("[THINK]") ||
                     mentions("<|channel|>analysis");
  traits_.tools = mentions("tools");
  traits_.developer = mentions("developer");

  RenderInput input;
  input.add_generation_prompt = false;
  input.now = "2026-01-01";
  auto prompt_of = [&](const std::vector<Message>& messages) -> std::string {
    Result<std::vector<Segment>> segments = run(messages_json(messages), input);
    return segments ? join_segments(*segments) : std::string();
  };
  Message call = simple_message("assistant", "");
  call.tool_calls.push_back({"abcdef123", "probe_tool", Json::object()});
  Message null_call = call;
  null_call.content_null = true;
  Message question = simple_message("user", "probe question");
  std::string with_null = prompt_of({question, null_call});
  traits_.null_content = !with_null.empty() && with_null.find("None") == std::string::npos;

  // A role takes parts if they print the same as the string.
  auto takes = [&](std::vector<Message> before, const std::string& role, bool* trait) {
    std::vector<Message> plain = before;
    plain.push_back(simple_message(role, "probe text"));
    Message parted = simple_message(role, "");
    parted.parts.push_back({"text", "probe text", {{"type", "text"}, {"text", "probe text"}}});
    before.push_back(std::move(parted));
    *trait = true;  // while it is tried
    std::string expected = prompt_of(plain), got = prompt_of(before);
    *trait = got == expected && got.find("probe text") != std::string::npos;
  };
  takes({}, "user", &traits_.user_parts);
  takes({question}, "assistant", &traits_.assistant_parts);
  takes({question, null_call}, "tool", &traits_.tool_parts);
  // A system message alone is refused by some.
  std::vector<Message> system = {simple_message("system", "probe text"), question};
  std::vector<Message> parted = system;
  parted[0].text.clear();
  parted[0].parts.push_back({"text", "probe text", {{"type", "text"}, {"text", "probe text"}}});
  traits_.system_parts = true;
  std::string expected = prompt_of(system);
  traits_.system_parts = !expected.empty() && expected == prompt_of(parted);
}

Json ChatTemplate::messages_json(const std::vector<Message>& messages) const {
  Json out = Json::array();
  for (const Message& m : messages) {
    bool takes = m.role == "user"        ? traits_.user_parts
                 : m.role == "assistant" ? traits_.assistant_parts
                 : m.role == "tool"      ? traits_.tool_parts
                                         : traits_.system_parts;
    out.push_back(message_json(m, takes));
    if (!m.reasoning_content.empty()) add_thinking(source_, m.reasoning_content, &out.back());
  }
  return out;
}

Result<std::vector<Segment>> ChatTemplate::run(const Json& messages,
                                               const RenderInput& input) const {
  jinja::Variables variables;
  Json& outside = variables.outside;
  outside = Json::object();
  outside["messages"] = messages;
  outside["tools"] = nullptr;
  if (!input.tools.empty()) {
    outside["tools"] = Json::array();
    for (const Tool& tool : input.tools) outside["tools"].push_back(tool.raw);
  }
  outside["documents"] = nullptr;
  outside["add_generation_prompt"] = input.add_generation_prompt;
  variables.trusted["bos_token"] = tokens_.bos;
  variables.trusted["eos_token"] = tokens_.eos;
  variables.now = input.now;
  const Json kwargs = all_switches(source_, input.template_kwargs);
  for (const auto& [key, value] : kwargs.items()) {
    if (key == "bos_token" || key == "eos_token") {
      variables.trusted[key] = value;
    } else if (key == "now") {
      if (!value.is_string()) {
        return make_error(
            ErrorCode::kInvalidArgument,
            "chat_template_kwargs.now: found {}, expected an ISO time such as 2026-05-04T10:11:12",
            value.dump());
      }
      variables.now = value.get<std::string>();
    } else {
      outside[key] = value;
    }
  }
  T9_TRY(jinja::Text text, program_->render(variables));
  return to_segments(text);
}

namespace {

Error no_template() {
  return make_error(ErrorCode::kInvalidArgument,
                    "the model file has no chat template, so it only completes text; give one with "
                    "--chat-template-file");
}

// What the request says elsewhere must not be said twice.
Status check_kwargs(const Json& kwargs) {
  for (const char* key : {"messages", "tools", "add_generation_prompt"}) {
    if (kwargs.contains(key)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "chat_template_kwargs.{0}: found a value, expected none; set the request's "
                        "own field {0}",
                        key);
    }
  }
  return {};
}

// The same messages pass the same limit next time: nothing that a client should try again.
Error refusal(const Error& error) {
  return {ErrorCode::kInvalidArgument,
          "the chat template refuses the conversation: " + error.message};
}

}  // namespace

Result<std::vector<Segment>> ChatTemplate::render_exactly(const RenderInput& input) const {
  if (!program_) return no_template();
  T9_TRY(check_kwargs(input.template_kwargs));
  Result<std::vector<Segment>> segments = run(messages_json(input.messages), input);
  if (!segments) return refusal(segments.error());
  if (input.continue_final && !input.messages.empty())
    return cut_at_final(std::move(*segments), input.messages.back());
  return segments;
}

Result<std::vector<Segment>> ChatTemplate::render(const RenderInput& input) const {
  if (!program_) return no_template();
  T9_TRY(check_kwargs(input.template_kwargs));
  RenderInput plain = input;
  plain.messages = without_stamps(std::move(plain.messages));
  for (Message& m : plain.messages) {
    if (m.role == "developer" && !traits_.developer) m.role = "system";
    // Null, absent and empty say the same; each template gets the one form that it takes well.
    bool empty = m.content_null || (m.parts.empty() && m.text.empty());
    if (!empty) continue;
    m.content_null = traits_.null_content && m.role == "assistant" && !m.tool_calls.empty();
    m.text.clear();
    if (!m.keys.empty() && std::find(m.keys.begin(), m.keys.end(), "content") == m.keys.end()) {
      m.keys.insert(std::find(m.keys.begin(), m.keys.end(), "role"), "content");
    }
  }
  if (!traits_.tools && !input.tools.empty()) {
    plain.messages = tools_in_system(std::move(plain.messages), input.tools);
    plain.tools.clear();
  }
  using Form = std::function<Messages(Messages)>;
  auto late = [](Messages m) { return fold_late_systems(std::move(m)); };
  auto merged = [](Messages m) { return merge_turns(fold_late_systems(std::move(m))); };
  auto text = [](Messages m) { return calls_as_text(fold_late_systems(std::move(m))); };
  const std::array<Form, 12> forms = {
      [](Messages m) { return m; },
      short_call_ids,
      text_in_thinking,
      late,
      merged,
      split_calls,
      [=](Messages m) { return split_calls(short_call_ids(merged(std::move(m)))); },
      [=](Messages m) { return merge_turns(fold_first_system(merged(std::move(m)))); },
      text,
      [=](Messages m) { return merge_turns(text(std::move(m))); },
      [=](Messages m) { return lead_with_user(merge_turns(text(std::move(m)))); },
      [=](Messages m) {
        return lead_with_user(merge_turns(fold_first_system(text(std::move(m)))));
      },
  };
  std::optional<Result<std::vector<Segment>>>
      first;  // what the template says to the conversation as it is
  for (const Form& form : forms) {
    RenderInput formed = plain;
    formed.messages = form(plain.messages);
    Result<std::vector<Segment>> segments = run(messages_json(formed.messages), formed);
    if (!segments && segments.error().code == ErrorCode::kResourceExhausted)
      return refusal(segments.error());
    bool whole = segments && !dropped_text(formed.messages, join_segments(*segments));
    if (whole || !first || (segments && !*first)) {
      if (segments && input.continue_final && !formed.messages.empty()) {
        segments = cut_at_final(std::move(*segments), formed.messages.back());
      }
      if (segments && input.add_generation_prompt && thinking_is_off(input.template_kwargs))
        close_thinking(source_, &*segments);
      if (whole) return segments;
      first = std::move(segments);
    }
  }
  if (!*first) return refusal(first->error());
  return std::move(*first);
}

}  // namespace tempo9::chat
