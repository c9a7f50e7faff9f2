// POST /v1/chat/completions: the request. What the reply looks like is in openai_chat_reply.cc.
#include "server/dialects/openai_chat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "chat/message.h"
#include "server/dialects/openai.h"
#include "server/errors.h"
#include "server/forced_call.h"

namespace tempo9::server::openai {
namespace {

using chat::ToolChoice;

struct ChatJob {
  engine::GenerateRequest request;
  int64_t n = 1;
  ChatReplyOptions reply;
};

bool is_media(std::string_view type) {
  for (const char* kind : {"image", "audio", "video", "file"}) {
    if (type.find(kind) != std::string_view::npos) return true;
  }
  return false;
}

// Pictures and sounds: refused in the newest user message; a note stands in for older ones, and for
// those in tool results, so that an agent's loop goes on.
Status replace_media(std::vector<chat::Message>* messages) {
  size_t newest_user = messages->size();
  for (size_t i = 0; i < messages->size(); ++i) {
    if ((*messages)[i].role == "user") newest_user = i;
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    for (size_t k = 0; k < (*messages)[i].parts.size(); ++k) {
      chat::ContentPart& part = (*messages)[i].parts[k];
      if (!is_media(part.type)) continue;
      if (i == newest_user) {
        return make_error(ErrorCode::kUnsupported,
                          "messages[{}].content[{}]: found a part of type \"{}\", but the loaded "
                          "model takes text only",
                          i, k, part.type);
      }
      part.text = "[" + part.type + " left out: this model takes text only]";
      part.type = "text";
      part.raw = {{"type", "text"}, {"text", part.text}};
    }
  }
  return {};
}

// The many names of "do not think", to the variable that templates know.
Status read_template_kwargs(Fields& fields, Json* kwargs) {
  if (const Json* value = fields.find("chat_template_kwargs")) {
    if (!value->is_object()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "chat_template_kwargs: found {}, expected an object", describe(*value));
    }
    *kwargs = *value;
  }
  std::string effort;
  fields.read("reasoning_effort", &effort);
  if (const Json* reasoning = fields.find("reasoning");
      reasoning != nullptr && reasoning->is_object()) {
    Fields inner(*reasoning, "reasoning.");
    inner.read("effort", &effort);
    bool enabled = true;
    inner.read("enabled", &enabled);
    if (!enabled) effort = "none";
    T9_TRY(inner.status());
  }
  if (const Json* value = fields.find("enable_thinking")) {
    bool enabled = true;
    fields.read("enable_thinking", &enabled);
    if (value->is_boolean() && !kwargs->contains("enable_thinking"))
      (*kwargs)["enable_thinking"] = enabled;
  }
  if (effort == "none" && !kwargs->contains("enable_thinking"))
    (*kwargs)["enable_thinking"] = false;
  if (!effort.empty() && effort != "none" && !kwargs->contains("reasoning_effort")) {
    (*kwargs)["reasoning_effort"] = effort;
  }
  return {};
}

void read_logprobs(Fields& fields, engine::GenerateRequest* request) {
  bool wanted = false;
  fields.read("logprobs", &wanted);
  std::optional<int64_t> top;
  fields.read("top_logprobs", 0, 20, &top);
  if (top && *top > 0 && !wanted) fields.fail("top_logprobs", "logprobs: true beside it");
  if (wanted) request->n_logprobs = static_cast<uint32_t>(top.value_or(0));
}

void read_response_format(Fields& fields) {
  const Json* format = fields.find("response_format");
  if (format == nullptr) return;
  std::string type;
  if (format->is_object()) {
    Fields inner(*format, "response_format.");
    inner.read("type", &type);
    if (const Status status = inner.status(); !status) return fields.fail(status.error());
  }
  if (type == "text") return;
  if (type == "json_object" || type == "json_schema") {
    return fields.fail(make_error(
        ErrorCode::kUnsupported,
        "response_format: type \"{}\" is not available yet; leave it out or use \"text\"", type));
  }
  fields.fail("response_format",
              "an object with type \"text\", \"json_object\" or \"json_schema\"");
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
  if (choice.kind != ToolChoice::Kind::kNamed) return {};
  for (const chat::Tool& tool : tools) {
    if (tool.name == choice.name) return {};
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "tool_choice: found the function {}, which is not among tools",
                    dump(Json(choice.name)));
}

Status read_messages(Fields& fields, const Json& body, const Service& service,
                     chat::RenderInput* input) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "messages: found nothing, expected an array of messages");
  }
  T9_TRY(input->messages, chat::messages_from_json(*messages));
  T9_TRY(replace_media(&input->messages));
  T9_TRY(input->tools,
         chat::tools_from_json(body.contains("tools") ? body["tools"] : Json(nullptr)));
  T9_TRY(read_template_kwargs(fields, &input->template_kwargs));
  fields.read("add_generation_prompt", &input->add_generation_prompt);
  fields.read("continue_final_message", &input->continue_final);
  if (input->continue_final) {
    if (input->messages.back().role != "assistant") {
      return make_error(
          ErrorCode::kInvalidArgument,
          "continue_final_message: found a last message of role \"{}\", expected \"assistant\"",
          input->messages.back().role);
    }
    input->add_generation_prompt = false;
  }
  T9_TRY(service.chat_template());
  return {};
}

Result<ChatJob> read_job(const Json& body, const Service& service) {
  ChatJob job;
  Fields fields(body);
  engine::GenerateRequest& request = job.request;
  job.reply.model = read_model(fields, service);
  const StreamOptions stream = read_stream_options(fields);
  job.reply.streamed = stream.stream;
  job.reply.include_usage = stream.include_usage;
  read_generation(fields, service, &request);
  read_logprobs(fields, &request);
  read_response_format(fields);
  fields.read("n", 1, 128, &job.n);
  fields.read("return_token_ids", &job.reply.return_token_ids);
  bool parallel_calls = true;
  fields.read("parallel_tool_calls", &parallel_calls);
  fields.refuse("functions", "not available; send the functions as tools");
  fields.refuse("audio", "the loaded model answers with text only");
  T9_TRY(fields.status());

  chat::RenderInput input;
  T9_TRY(read_messages(fields, body, service, &input));
  T9_TRY(const ToolChoice choice,
         chat::tool_choice_from_json(body.contains("tool_choice") ? body["tool_choice"]
                                                                  : Json(nullptr)));
  T9_TRY(fields.status());
  T9_TRY(check_tool_choice(choice, input.tools));
  if (choice.kind == ToolChoice::Kind::kNone) input.tools.clear();
  const bool named = choice.kind == ToolChoice::Kind::kNamed;
  job.reply.one_call = named || !parallel_calls;

  T9_TRY(const chat::ChatTemplate* chat_template, service.chat_template());
  T9_TRY(auto segments, chat_template->render(input));
  job.reply.parser.tools = input.tools;
  job.reply.parser.starts_in_thinking = chat::opens_thinking(segments);
  const bool forced = named || choice.kind == ToolChoice::Kind::kRequired;
  // A script speaks for itself: it is given the same prompt, and what it says is taken whole.
  if (forced && !service.engine().info().is_script) {
    T9_TRY(auto opening,
           open_call(service.format(), choice.name, job.reply.parser.starts_in_thinking));
    std::move(opening.segments.begin(), opening.segments.end(), std::back_inserter(segments));
    job.reply.opening = std::move(opening.increments);
  }

  request.prompt = service.encode(segments);
  request.spell_control = true;
  read_script_texts(input.messages, &request);
  T9_TRY(check_length(service, request));
  return job;
}

}  // namespace

void chat_completions(std::shared_ptr<const Service> service,
                      std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(openai_error(body.error()));
  auto job = read_job(*body, *service);
  if (!job) return exchange->respond(openai_error(job.error()));

  ChatReplyOptions& options = job->reply;
  options.n_choices = static_cast<size_t>(job->n);
  options.ignore_eos = job->request.ignore_eos;
  options.logprobs = job->request.n_logprobs.has_value();
  if (options.return_token_ids) options.prompt_token_ids = job->request.prompt;
  std::vector<engine::GenerateRequest> requests;
  add_choices(std::move(job->request), job->n, &requests);
  auto reply = make_chat_reply(service, std::move(options));
  generate(service, exchange, std::move(requests), std::move(reply));
}

}  // namespace tempo9::server::openai
