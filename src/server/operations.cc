#include "server/operations.h"

#include <fmt/format.h>

#include "server/errors.h"
#include "server/json_body.h"

namespace tempo9::server {
namespace {

Result<std::vector<chat::Segment>> render_messages(const Json& body, Fields& fields,
                                                   const Service& service, bool exactly) {
  chat::RenderInput input;
  const Json* messages = fields.find("messages");
  if (messages == nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "messages: found nothing, expected an array of messages");
  }
  T9_TRY(input.messages, chat::messages_from_json(*messages));
  T9_TRY(input.tools,
         chat::tools_from_json(body.contains("tools") ? body["tools"] : Json(nullptr)));
  fields.read("add_generation_prompt", &input.add_generation_prompt);
  fields.read("continue_final_message", &input.continue_final);
  if (input.continue_final) input.add_generation_prompt = false;
  if (const Json* kwargs = fields.find("chat_template_kwargs")) {
    if (!kwargs->is_object()) fields.fail("chat_template_kwargs", "an object");
    input.template_kwargs = *kwargs;
  }
  T9_TRY(fields.status());
  T9_TRY(const chat::ChatTemplate* chat_template, service.chat_template());
  return exactly ? chat_template->render_exactly(input) : chat_template->render(input);
}

Result<Json> run_tokenize(const Service& service, std::string_view text) {
  T9_TRY(const Json body, parse_body(text));
  Fields fields(body);
  const tokenizer::Tokenizer& tokenizer = service.tokenizer();
  std::vector<TokenId> ids;
  if (fields.find("messages") != nullptr) {
    // The template writes the special tokens that belong into the prompt.
    T9_TRY(const auto segments, render_messages(body, fields, service, /*exactly=*/false));
    ids = service.encode(segments);
  } else {
    tokenizer::EncodeOptions options{.add_special = true, .parse_control = false};
    fields.read("add_special_tokens", &options.add_special);
    fields.read("parse_special", &options.parse_control);
    const char* key = fields.find("prompt") != nullptr ? "prompt" : "content";
    std::string prompt;
    if (fields.find(key) == nullptr) {
      return make_error(ErrorCode::kInvalidArgument,
                        "prompt: found nothing, expected one of prompt, content or messages");
    }
    fields.read(key, &prompt);
    T9_TRY(fields.status());
    tokenizer.encode(prompt, options, &ids);
  }
  Json answer = Json::object();
  answer["tokens"] = ids;
  answer["count"] = ids.size();
  answer["max_model_len"] = service.engine().info().max_length;
  return answer;
}

Result<Json> run_detokenize(const Service& service, std::string_view text) {
  T9_TRY(const Json body, parse_body(text));
  Fields fields(body);
  std::vector<int32_t> ids;
  if (fields.find("tokens") == nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "tokens: found nothing, expected an array of token ids");
  }
  fields.read("tokens", 0, service.tokenizer().size() - 1, &ids);
  bool skip_special = false;
  fields.read("skip_special_tokens", &skip_special);
  T9_TRY(fields.status());
  const std::string decoded = service.tokenizer().decode(ids, /*spell_control=*/!skip_special);
  Json answer = Json::object();
  answer["prompt"] = decoded;   // vLLM's name
  answer["content"] = decoded;  // llama.cpp's
  return answer;
}

Result<Json> run_apply_template(const Service& service, std::string_view text) {
  T9_TRY(const Json body, parse_body(text));
  Fields fields(body);
  T9_TRY(const auto segments, render_messages(body, fields, service, /*exactly=*/true));
  Json answer = Json::object();
  answer["prompt"] = chat::join_segments(segments);
  return answer;
}

void answer(http::Exchange& exchange, const Result<Json>& result) {
  if (result) {
    exchange.respond({.body = dump(*result)});
  } else {
    exchange.respond(openai_error(result.error()));
  }
}

}  // namespace

void tokenize(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  answer(*exchange, run_tokenize(*service, exchange->request().body));
}

void detokenize(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  answer(*exchange, run_detokenize(*service, exchange->request().body));
}

void apply_template(std::shared_ptr<const Service> service,
                    std::shared_ptr<http::Exchange> exchange) {
  answer(*exchange, run_apply_template(*service, exchange->request().body));
}

void metrics(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  exchange->respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = service->metrics().text(service->engine())});
}

}  // namespace tempo9::server
