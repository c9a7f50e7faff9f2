// POST /api/chat and /api/generate: the requests. What the replies look like is in ollama_reply.cc.
#include <utility>

#include "server/chat_job.h"
#include "server/dialects/ollama.h"
#include "server/errors.h"
#include "server/infill.h"

namespace tempo9::server::ollama {
namespace {

struct Job {
  ChatJob chat;
  ReplyOptions reply;
  bool load_only = false;  // nothing to say: the client wants the model loaded, or unloaded
  bool unload = false;
};

void read_common(Fields& fields, const Service& service, Job* job) {
  fields.read("model", &job->reply.model);
  if (job->reply.model.empty()) job->reply.model = service.name();
  fields.read("stream", &job->reply.streamed);
  read_generation(fields, &job->chat);
  job->chat.structure = read_plain_format(fields, "format");
  job->reply.logprobs = job->chat.request.n_logprobs.has_value();
  // The model stays loaded whatever this says; 0 with nothing to do asks to let it go.
  const Json* keep_alive = fields.find("keep_alive");
  job->unload = keep_alive != nullptr && (*keep_alive == 0 || *keep_alive == "0");
}

Result<Job> read_chat(const Json& body, const Service& service) {
  Job job;
  Fields fields(body);
  read_common(fields, service, &job);
  T9_TRY(fields.status());
  const Json* messages = fields.find("messages");
  if (messages == nullptr || (messages->is_array() && messages->empty())) {
    job.load_only = true;
    return job;
  }
  chat::RenderInput input;
  T9_TRY(service.chat_template());
  T9_TRY(input.messages, read_messages(*messages));
  const Json* tools = fields.find("tools");
  T9_TRY(input.tools, chat::tools_from_json(tools == nullptr ? Json() : *tools));
  T9_TRY(read_think(fields, &input.template_kwargs, &job.chat.thinking_budget));
  // A last message of the assistant's is the reply's beginning.
  const chat::Message& last = input.messages.back();
  if (last.role == "assistant" && last.tool_calls.empty() && !last.joined_text().empty()) {
    input.continue_final = true;
    input.add_generation_prompt = false;
  }
  T9_TRY(prepare_chat(service, std::move(input), {}, /*parallel_calls=*/true, &job.chat));
  T9_TRY(check_length(service, job.chat.request));
  return job;
}

void encode_raw(const Service& service, const std::string& prompt, engine::GenerateRequest* out) {
  // Whoever writes a raw prompt also writes its control tokens.
  service.tokenizer().encode(prompt, {.add_special = true, .parse_control = true}, &out->prompt);
  out->match_text = prompt;
}

// One turn through the template, behind the turns whose ids the client brings back.
Status encode_turn(Fields& fields, const Service& service, const std::string& prompt, Job* job) {
  std::string system;
  std::vector<int32_t> context;
  fields.read("system", &system);
  fields.read("context", 0, service.tokenizer().size() - 1, &context);
  chat::RenderInput input;
  T9_TRY(read_think(fields, &input.template_kwargs, &job->chat.thinking_budget));
  T9_TRY(fields.status());
  for (const auto& [role, text] : {std::pair("system", system), std::pair("user", prompt)}) {
    if (text.empty()) continue;
    chat::Message message;
    message.role = role;
    message.text = text;
    input.messages.push_back(std::move(message));
  }
  T9_TRY(prepare_chat(service, std::move(input), {}, /*parallel_calls=*/true, &job->chat));
  std::vector<TokenId>& ids = job->chat.request.prompt;
  ids.insert(ids.begin(), context.begin(), context.end());
  job->reply.prompt = ids;
  return {};
}

Result<Job> read_generate(const Json& body, const Service& service) {
  Job job;
  Fields fields(body);
  job.reply.shape = ReplyOptions::Shape::kGenerate;
  read_common(fields, service, &job);
  std::string prompt;
  std::string suffix;
  fields.read("prompt", &prompt);
  fields.read("suffix", &suffix);
  fields.read("raw", &job.reply.raw);
  fields.refuse("images", "the loaded model takes text only");
  std::string own_template;
  fields.read("template", &own_template);
  if (!own_template.empty()) {
    fields.refuse("template",
                  "not available; send the whole prompt with raw, or start the server "
                  "with --chat-template-file");
  }
  T9_TRY(fields.status());
  if (prompt.empty() && suffix.empty()) {
    job.load_only = true;
    return job;
  }
  if (!suffix.empty()) {
    job.reply.raw = true;
    T9_TRY(job.chat.request.prompt, encode_infill(service, prompt, suffix));
    job.chat.request.match_text = prompt;
  } else if (job.reply.raw) {
    encode_raw(service, prompt, &job.chat.request);
  } else {
    T9_TRY(encode_turn(fields, service, prompt, &job));
  }
  if (job.reply.raw) T9_TRY(hold_to(service, job.chat.structure, {}, &job.chat.request));
  T9_TRY(check_length(service, job.chat.request));
  return job;
}

void answer_loaded(http::Exchange& exchange, const Job& job) {
  Json json = envelope(job.reply.model);
  if (job.reply.shape == ReplyOptions::Shape::kChat) {
    json["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    json["response"] = "";
  }
  json["done"] = true;
  json["done_reason"] = job.unload ? "unload" : "load";
  exchange.respond({.body = fmt::format("{}\n", dump(json))});
}

using ReadJob = Result<Job> (*)(const Json&, const Service&);

void run(ReadJob read, const std::shared_ptr<const Service>& service,
         const std::shared_ptr<http::Exchange>& exchange) {
  const auto start = std::chrono::steady_clock::now();
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(ollama_error(body.error()));
  auto job = read(*body, *service);
  if (!job) return exchange->respond(ollama_error(job.error()));
  if (job->load_only) return answer_loaded(*exchange, *job);
  ReplyOptions& options = job->reply;
  options.start = start;
  options.one_call = job->chat.one_call;
  options.parser = std::move(job->chat.parser);
  std::vector<engine::GenerateRequest> requests;
  requests.push_back(std::move(job->chat.request));
  auto reply = make_reply(service, std::move(options));
  server::generate(service, exchange, std::move(requests), std::move(reply), job->chat.call_list);
}

}  // namespace

void chat(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  run(read_chat, service, exchange);
}

void generate(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  run(read_generate, service, exchange);
}

}  // namespace tempo9::server::ollama
