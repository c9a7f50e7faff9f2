// The Responses dialect: POST /v1/responses, POST /v1/responses/input_tokens, and what was stored
// of earlier ones. A request: openai_responses.cc; its items and tools: openai_responses_input and
// _tools; the reply: openai_responses_reply.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/dialects/openai.h"
#include "server/dialects/openai_responses_tools.h"
#include "server/reply_parser.h"

namespace tempo9::server::openai {

void create_response(std::shared_ptr<const Service> service,
                     std::shared_ptr<http::Exchange> exchange);
void count_response_tokens(std::shared_ptr<const Service> service,
                           std::shared_ptr<http::Exchange> exchange);
// GET and DELETE /v1/responses/{id}, GET /v1/responses/{id}/input_items.
void get_response(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void delete_response(std::shared_ptr<const Service> service,
                     std::shared_ptr<http::Exchange> exchange);
// POST /v1/responses/{id}/cancel: only what runs in the background can be cancelled, and nothing
// does.
void cancel_response(std::shared_ptr<const Service> service,
                     std::shared_ptr<http::Exchange> exchange);

// --- for the routes above

struct ResponseReplyOptions {
  Json response;  // the response object with all that the request settles; status "in_progress"
  bool streamed = false;
  bool logprobs = false;
  bool encrypted_reasoning = false;  // reasoning items carry encrypted_content
  bool ignore_eos = false;
  bool one_call = false;  // the reply ends behind its first call
  ReplyParserOptions parser;
  ResponseTools tools;
  bool store = true;
  Json items = Json::array();  // what the model saw, as it is stored
};

std::unique_ptr<Reply> make_response_reply(std::shared_ptr<const Service> service,
                                           ResponseReplyOptions options);

}  // namespace tempo9::server::openai
