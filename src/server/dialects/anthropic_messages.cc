// POST /v1/messages and /v1/messages/count_tokens: the request. What the reply looks like is in
// anthropic_reply.cc.
#include <limits>
#include <utility>

#include "server/chat_job.h"
#include "server/dialects/anthropic.h"
#include "server/errors.h"
#include "server/session.h"

namespace tempo9::server::anthropic {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 4096;

struct MessageJob {
  ChatJob chat;
  MessageReplyOptions reply;
};

void read_stops(Fields& fields, std::vector<std::string>* out) {
  const Json* value = fields.find("stop_sequences");
  if (value == nullptr) return;
  if (!value->is_array() || value->size() > kMaxStops) {
    return fields.fail("stop_sequences", fmt::format("an array of at most {} strings", kMaxStops));
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    const size_t n_bytes = element.is_string() ? element.get_ref<const std::string&>().size() : 0;
    if (n_bytes == 0 || n_bytes > kMaxStopBytes) {
      return fields.fail(make_error(ErrorCode::kInvalidArgument,
                                    "stop_sequences[{}]: found {}, expected a string of 1 to {} "
                                    "bytes",
                                    i, describe(element), kMaxStopBytes));
    }
    out->push_back(element.get<std::string>());
  }
}

void read_sampling(Fields& fields, engine::GenerateRequest* request) {
  std::optional<int64_t> max_tokens;
  fields.read("max_tokens", 0, kMaxInt, &max_tokens);
  if (max_tokens) {
    request->max_tokens =
        static_cast<uint32_t>(std::min<int64_t>(*max_tokens, std::numeric_limits<uint32_t>::max()));
  }
  sampling::Params& params = request->sampling;
  fields.read("temperature", &params.temperature);
  if (!(params.temperature >= 0.0f && params.temperature <= 1.0f))
    fields.fail("temperature", "a number from 0 to 1");
  fields.read("top_p", &params.top_p);
  int64_t top_k = params.top_k;
  fields.read("top_k", 0, std::numeric_limits<int32_t>::max(), &top_k);
  params.top_k = static_cast<int32_t>(top_k);
  read_stops(fields, &request->stop);
  if (const Json* metadata = fields.find("metadata"); metadata != nullptr && metadata->is_object())
    read_session(Fields(*metadata), "user_id", request);
}

// As the API has it, a request that does not speak of thinking wants none.
void read_thinking(Fields& fields, Json* kwargs, MessageJob* job) {
  bool enabled = false;
  if (const Json* thinking = fields.find("thinking")) {
    if (!thinking->is_object()) return fields.fail("thinking", "an object");
    Fields inner(*thinking, "thinking.");
    std::string type;
    std::string display;
    std::optional<int64_t> budget;
    inner.read("type", &type);
    inner.read("display", &display);
    // Clients send a budget above max_tokens, so its upper end is not checked.
    inner.read("budget_tokens", 1, kMaxInt, &budget);
    if (type != "enabled" && type != "adaptive" && type != "disabled" && type != "between_tools")
      inner.fail("type", "\"enabled\", \"adaptive\", \"between_tools\" or \"disabled\"");
    if (const Status status = inner.status(); !status) return fields.fail(status.error());
    enabled = type != "disabled";
    if (enabled) set_thinking_budget(budget, &job->chat.thinking_budget);
    job->reply.omit_thinking = display == "omitted";
  }
  (*kwargs)["enable_thinking"] = enabled;
}

Status read_output_config(Fields& fields, Json* kwargs, Structure* structure) {
  *structure = read_format(fields, "output_format");
  const Json* config = fields.find("output_config");
  if (config == nullptr) return {};
  if (!config->is_object()) {
    fields.fail("output_config", "an object");
    return {};
  }
  Fields inner(*config, "output_config.");
  if (structure->kind == Structure::Kind::kNone) *structure = read_format(inner, "format");
  std::string effort;
  inner.read("effort", &effort);
  T9_TRY(inner.status());
  return apply_effort("output_config.effort", effort, kwargs);
}

// The last message, when it is the assistant's, is the reply's beginning.
void read_prefill(chat::RenderInput* input) {
  chat::Message& last = input->messages.back();
  if (last.role != "assistant" || !last.tool_calls.empty()) return;
  if (last.text.find_first_not_of(" \t\r\n") == std::string::npos &&
      last.reasoning_content.empty() && input->messages.size() > 1) {
    input->messages.pop_back();
    return;
  }
  input->continue_final = true;
  input->add_generation_prompt = false;
}

// The conversation to the prompt: what both routes share, so that a count is what is used later.
Status read_prompt(Fields& fields, const Service& service, MessageJob* job) {
  chat::RenderInput input;
  read_thinking(fields, &input.template_kwargs, job);
  T9_TRY(read_output_config(fields, &input.template_kwargs, &job->chat.structure));
  T9_TRY(fields.status());
  T9_TRY(service.chat_template());
  T9_TRY(Tools tools, read_tools(fields.find("tools"), &job->reply.warnings));
  if (const Json* servers = fields.find("mcp_servers"); servers != nullptr && !servers->empty())
    job->reply.warnings.push_back("mcp_servers: not available and left out");
  T9_TRY(ToolChoice choice, read_tool_choice(fields.find("tool_choice")));
  T9_TRY(input.messages,
         read_messages(fields.find("system"), fields.find("messages"), tools.deferred));
  input.tools = std::move(tools.shown);
  read_prefill(&input);
  const bool callable = choice.choice.kind != chat::ToolChoice::Kind::kNone;
  T9_TRY(prepare_chat(service, std::move(input), choice.choice, choice.parallel, &job->chat));
  // Not in front of the prompt; a call of one is a call.
  if (callable) {
    auto& known = job->chat.parser.parser.tools;
    std::move(tools.deferred.begin(), tools.deferred.end(), std::back_inserter(known));
  }
  return {};
}

// In the words on which Claude Code compacts the conversation.
Status check_length(const Service& service, const engine::GenerateRequest& request) {
  const size_t limit = service.engine().info().max_length;
  const size_t n_prompt = request.prompt.size();
  const bool fits = request.max_tokens == 0u ? n_prompt <= limit : n_prompt < limit;
  if (fits) return {};
  return make_error(ErrorCode::kInvalidArgument, "prompt is too long: {} tokens > {} maximum",
                    n_prompt, n_prompt > limit ? limit : limit - 1);
}

Result<MessageJob> read_job(const Json& body, const Service& service) {
  MessageJob job;
  Fields fields(body);
  fields.read("model", &job.reply.model);
  if (job.reply.model.empty()) job.reply.model = service.name();
  fields.read("stream", &job.reply.streamed);
  read_sampling(fields, &job.chat.request);
  T9_TRY(fields.status());
  T9_TRY(read_prompt(fields, service, &job));
  T9_TRY(check_length(service, job.chat.request));
  return job;
}

Result<size_t> count(const Json& body, const Service& service) {
  MessageJob job;
  Fields fields(body);
  T9_TRY(read_prompt(fields, service, &job));
  return job.chat.request.prompt.size();
}

}  // namespace

void messages(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(anthropic_error(body.error()));
  auto job = read_job(*body, *service);
  if (!job) return exchange->respond(anthropic_error(job.error()));

  MessageReplyOptions& options = job->reply;
  options.n_prompt_tokens = job->chat.request.prompt.size();
  options.parser = std::move(job->chat.parser);
  options.one_call = job->chat.one_call;
  std::vector<engine::GenerateRequest> requests;
  requests.push_back(std::move(job->chat.request));
  auto reply = make_message_reply(service, std::move(options));
  generate(service, exchange, std::move(requests), std::move(reply), job->chat.call_list);
}

void count_tokens(std::shared_ptr<const Service> service,
                  std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(anthropic_error(body.error()));
  const auto n_tokens = count(*body, *service);
  if (!n_tokens) return exchange->respond(anthropic_error(n_tokens.error()));
  exchange->respond({.body = dump(Json{{"input_tokens", *n_tokens}})});
}

}  // namespace tempo9::server::anthropic
