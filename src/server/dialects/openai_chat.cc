// POST /v1/chat/completions: the request. What the reply looks like is in openai_chat_reply.cc.
#include "server/dialects/openai_chat.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "chat/message.h"
#include "server/chat_job.h"
#include "server/custom_tool.h"
#include "server/dialects/openai.h"
#include "server/errors.h"

namespace tempo9::server::openai {
namespace {

struct ChatCompletionJob {
  ChatJob chat;
  int64_t n = 1;
  ChatReplyOptions reply;
};

void read_chat_logprobs(Fields& fields, engine::GenerateRequest* request) {
  bool wanted = false;
  fields.read("logprobs", &wanted);
  std::optional<int64_t> top;
  fields.read("top_logprobs", 0, 20, &top);
  if (top && *top > 0 && !wanted) fields.fail("top_logprobs", "logprobs: true beside it");
  if (wanted) request->n_logprobs = static_cast<uint32_t>(top.value_or(0));
}

// The roles of the API; "function" is the old name of "tool".
Status check_roles(std::vector<chat::Message>* messages) {
  constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};
  for (size_t i = 0; i < messages->size(); ++i) {
    std::string& role = (*messages)[i].role;
    if (role == "function") role = "tool";
    if (std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles)) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "messages[{}].role: found {}, expected system, developer, user, assistant or "
                      "tool",
                      i, dump(Json(role)));
  }
  return {};
}

// A prefilled reply: continue_final_message (vLLM's name), "prefix" on the last message (DeepSeek's
// and Mistral's).
Status read_prefill(Fields& fields, chat::RenderInput* input) {
  fields.read("add_generation_prompt", &input->add_generation_prompt);
  fields.read("continue_final_message", &input->continue_final);
  chat::Message& last = input->messages.back();
  if (last.role == "assistant" && last.extra.contains("prefix")) {
    input->continue_final |= last.extra["prefix"] == true;
    last.extra.erase("prefix");
    std::erase(last.keys, "prefix");
  }
  if (!input->continue_final) return {};
  if (last.role != "assistant") {
    return make_error(
        ErrorCode::kInvalidArgument,
        "continue_final_message: found a last message of role \"{}\", expected \"assistant\"",
        last.role);
  }
  input->add_generation_prompt = false;
  return {};
}

// Functions as they are, custom tools as functions of one string, in the client's order; hosted
// ones are left out.
Result<std::vector<chat::Tool>> read_tools(Json tools, std::vector<std::string>* custom) {
  if (!tools.is_array()) return chat::tools_from_json(tools);
  std::map<std::string, chat::TextGrammar> grammars;
  for (size_t i = 0; i < tools.size(); ++i) {
    if (!tools[i].is_object() || tools[i].value("type", Json()) != "custom") continue;
    const Json entry = tools[i].value("custom", tools[i]);
    const std::string where = fmt::format("tools[{}].custom", i);
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{}.name: found nothing, expected the name of the tool", where);
    }
    custom->push_back(entry["name"].get<std::string>());
    T9_TRY(const chat::Tool tool, custom_as_function(entry, where, custom->back()));
    tools[i] = tool.raw;
    if (tool.grammar) grammars.emplace(tool.name, *tool.grammar);
  }
  T9_TRY(std::vector<chat::Tool> out, chat::tools_from_json(tools));
  for (chat::Tool& tool : out) {
    if (const auto found = grammars.find(tool.name); found != grammars.end())
      tool.grammar = found->second;
  }
  return out;
}

Status read_messages(Fields& fields, chat::RenderInput* input, std::optional<uint32_t>* budget) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "messages: found nothing, expected an array of messages");
  }
  T9_TRY(input->messages, chat::messages_from_json(*messages));
  T9_TRY(check_roles(&input->messages));
  T9_TRY(replace_media("messages", &input->messages));
  T9_TRY(read_template_kwargs(fields, &input->template_kwargs, budget));
  return read_prefill(fields, input);
}

Result<ChatCompletionJob> read_chat_job(const Json& body, const Service& service) {
  ChatCompletionJob job;
  Fields fields(body);
  engine::GenerateRequest& request = job.chat.request;
  job.reply.model = read_model(fields, service);
  const StreamOptions stream = read_stream_options(fields);
  job.reply.streamed = stream.stream;
  job.reply.include_usage = stream.include_usage;
  read_generation(fields, service, &request);
  read_chat_logprobs(fields, &request);
  Structure& structure = job.chat.structure;
  structure = read_format(fields, "response_format");
  if (structure.kind == Structure::Kind::kNone) structure = read_structured_outputs(fields);
  fields.read("n", 1, 128, &job.n);
  fields.read("return_token_ids", &job.reply.return_token_ids);
  bool parallel_calls = true;
  fields.read("parallel_tool_calls", &parallel_calls);
  fields.refuse("functions", "not available; send the functions as tools");
  fields.refuse("audio", "the loaded model answers with text only");
  T9_TRY(fields.status());

  chat::RenderInput input;
  T9_TRY(service.chat_template());
  T9_TRY(read_messages(fields, &input, &job.chat.thinking_budget));
  T9_TRY(input.tools, read_tools(body.contains("tools") ? body["tools"] : Json(nullptr),
                                 &job.reply.custom_tools));
  T9_TRY(const chat::ToolChoice choice,
         chat::tool_choice_from_json(body.contains("tool_choice") ? body["tool_choice"]
                                                                  : Json(nullptr)));
  T9_TRY(fields.status());
  T9_TRY(prepare_chat(service, std::move(input), choice, parallel_calls, &job.chat));
  T9_TRY(check_length(service, request));
  return job;
}

}  // namespace

void chat_completions(std::shared_ptr<const Service> service,
                      std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(openai_error(body.error()));
  auto job = read_chat_job(*body, *service);
  if (!job) return exchange->respond(openai_error(job.error()));

  ChatReplyOptions& options = job->reply;
  options.n_choices = static_cast<size_t>(job->n);
  options.ignore_eos = job->chat.request.ignore_eos;
  options.logprobs = job->chat.request.n_logprobs.has_value();
  options.one_call = job->chat.one_call;
  options.parser = std::move(job->chat.parser);
  if (options.return_token_ids) {
    options.prompt_token_ids = job->chat.request.prompt;
    job->chat.call_list = nullptr;  // what was written stays
  }
  std::vector<engine::GenerateRequest> requests;
  add_choices(std::move(job->chat.request), job->n, &requests);
  auto reply = make_chat_reply(service, std::move(options));
  generate(service, exchange, std::move(requests), std::move(reply), job->chat.call_list);
}

}  // namespace tempo9::server::openai
