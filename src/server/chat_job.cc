#include "server/chat_job.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "server/forced_call.h"
#include "server/json_body.h"

namespace tempo9::server {
namespace {

using chat::ToolChoice;

bool is_media(std::string_view type) {
  for (const char* kind : {"image", "audio", "video", "file"}) {
    if (type.find(kind) != std::string_view::npos) return true;
  }
  return false;
}

// For script mode: the text that `when` is held against, and the one that is echoed.
void read_script_texts(const std::vector<chat::Message>& messages,
                       engine::GenerateRequest* request) {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    const bool user = message->role == "user";
    if ((user || message->role == "tool") && request->match_text.empty())
      request->match_text = message->joined_text();
    if (user) {
      request->echo_text = message->joined_text();
      return;
    }
  }
}

Status check_tool_choice(const ToolChoice& choice, const std::vector<chat::Tool>& tools) {
  if (choice.kind == ToolChoice::Kind::kRequired && tools.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "tool_choice: found \"required\", but tools names no function");
  }
  std::vector<std::string> names = choice.allowed;
  if (choice.kind == ToolChoice::Kind::kNamed) names.push_back(choice.name);
  for (const std::string& name : names) {
    if (std::none_of(tools.begin(), tools.end(),
                     [&name](const chat::Tool& tool) { return tool.name == name; })) {
      return make_error(ErrorCode::kInvalidArgument,
                        "tool_choice: found the function {}, which is not among tools",
                        dump(Json(name)));
    }
  }
  return {};
}

// What may not be called is not shown: the model cannot know a rule that stands outside its prompt.
void keep_callable(const ToolChoice& choice, std::vector<chat::Tool>* tools) {
  if (choice.kind == ToolChoice::Kind::kNone) tools->clear();
  if (choice.allowed.empty()) return;
  std::erase_if(*tools, [&choice](const chat::Tool& tool) {
    return std::find(choice.allowed.begin(), choice.allowed.end(), tool.name) ==
           choice.allowed.end();
  });
}

}  // namespace

Status replace_media(std::string_view field, std::vector<chat::Message>* messages) {
  size_t newest_user = messages->size();
  for (size_t i = 0; i < messages->size(); ++i) {
    if ((*messages)[i].role == "user") newest_user = i;
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    for (size_t k = 0; k < (*messages)[i].parts.size(); ++k) {
      chat::ContentPart& part = (*messages)[i].parts[k];
      if (part.type == "text") continue;
      // Thinking and the like, under names of other servers.
      if ((*messages)[i].role == "assistant" && !is_media(part.type)) continue;
      if (i == newest_user) {
        return make_error(
            is_media(part.type) ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
            "{}[{}].content[{}]: found a part of type \"{}\", but the loaded "
            "model takes text only",
            field, i, k, part.type);
      }
      part.text = media_note(part.type);
      part.type = "text";
      part.raw = {{"type", "text"}, {"text", part.text}};
    }
  }
  return {};
}

std::string media_note(std::string_view type) {
  return fmt::format("[{} left out: this model takes text only]", type);
}

Status apply_effort(std::string_view field, const std::string& effort, chat::Json* kwargs) {
  constexpr std::string_view kEfforts[] = {"none",  "minimal", "low",  "medium", "high",
                                           "xhigh", "max",     "auto", "default"};
  if (effort.empty()) return {};
  if (std::find(std::begin(kEfforts), std::end(kEfforts), effort) == std::end(kEfforts)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: found {}, expected none, minimal, low, medium, high, xhigh, max, auto "
                      "or default",
                      field, dump(Json(effort)));
  }
  if (effort == "none") {
    if (!kwargs->contains("enable_thinking")) (*kwargs)["enable_thinking"] = false;
  } else if (effort != "auto" && effort != "default" && !kwargs->contains("reasoning_effort")) {
    (*kwargs)["reasoning_effort"] = effort;
  }
  return {};
}

void read_thinking_budget(Fields& fields, std::optional<uint32_t>* out) {
  for (const char* key : {"thinking_budget", "thinking_token_budget", "thinking_budget_tokens",
                          "reasoning_budget_tokens"}) {
    std::optional<int64_t> value;
    fields.read(key, -1, std::numeric_limits<int64_t>::max(), &value);
    set_thinking_budget(value, out);
  }
}

void set_thinking_budget(std::optional<int64_t> value, std::optional<uint32_t>* out) {
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  if (value && *value >= 0) *out = static_cast<uint32_t>(std::min(*value, kMax));
}

Status prepare_chat(const Service& service, chat::RenderInput input, const ToolChoice& choice,
                    bool parallel_calls, ChatJob* job) {
  T9_TRY(const chat::ChatTemplate* chat_template, service.chat_template());
  std::vector<chat::Tool>& callable = job->parser.parser.tools;
  callable.insert(callable.begin(), input.tools.begin(), input.tools.end());
  T9_TRY(check_tool_choice(choice, callable));
  keep_callable(choice, &input.tools);
  keep_callable(choice, &callable);
  const bool named = choice.kind == ToolChoice::Kind::kNamed;
  job->one_call = named || !parallel_calls;

  // Some templates tell the model of its budget.
  if (job->thinking_budget && !input.template_kwargs.contains("thinking_budget"))
    input.template_kwargs["thinking_budget"] = *job->thinking_budget;
  T9_TRY(auto segments, chat_template->render(input));
  job->parser.parser.starts_in_thinking = chat::opens_thinking(segments);
  const bool forced = named || choice.kind == ToolChoice::Kind::kRequired;
  // A script speaks for itself: it is given the same prompt, and what it says is taken whole.
  if (forced && !service.engine().info().is_script) {
    T9_TRY(auto opening,
           open_call(service.format(), choice.name, job->parser.parser.starts_in_thinking));
    std::move(opening.segments.begin(), opening.segments.end(), std::back_inserter(segments));
    job->parser.opening = std::move(opening.increments);
  }
  const Thinking thinking =
      thinking_of(service, job->parser.parser.starts_in_thinking, input.continue_final);
  job->request.rules.reset();  // of an earlier attempt, with a longer prompt
  if (!forced) T9_TRY(hold_to(service, job->structure, thinking, &job->request));
  T9_TRY(hold_calls(service,
                    {.tools = &callable,
                     .forced = forced,
                     .name = choice.name,
                     .one_call = job->one_call,
                     .thinking = thinking},
                    &job->request));
  // A forced call has no thinking before it.
  if (job->thinking_budget && job->parser.opening.empty())
    limit_thinking(service, thinking, *job->thinking_budget, &job->request);
  // Where each token is told to the client, what was written stays. Behind a tool's result such
  // models repeat their call before they answer, and it is the answer that is wanted.
  const bool may_begin_again = !input.messages.empty() && input.messages.back().role == "user" &&
                               !forced && !job->one_call && !job->request.n_logprobs &&
                               job->structure.kind == Structure::Kind::kNone &&
                               !job->parser.parser.starts_in_thinking && !input.continue_final;
  job->call_list = may_begin_again ? CallList::make(service, callable) : nullptr;
  job->request.prompt = service.encode(segments);
  job->request.spell_control = true;
  read_script_texts(input.messages, &job->request);
  return {};
}

}  // namespace tempo9::server
