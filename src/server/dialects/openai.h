// What the OpenAI routes share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "server/generation.h"
#include "server/http/message.h"
#include "server/json_body.h"
#include "server/service.h"

namespace tempo9::server::openai {

// POST /v1/chat/completions, POST /v1/completions, POST /v1/embeddings, GET /v1/models, GET
// /v1/models/{id}.
void chat_completions(std::shared_ptr<const Service> service,
                      std::shared_ptr<http::Exchange> exchange);
void completions(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void embeddings(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void list_models(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void get_model(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);

// --- for the routes above

// The fields that chat and completions share, into a request: sampling, limits, stops, seeds.
// Refuses by name what would change the reply and is not available yet.
void read_generation(Fields& fields, const Service& service, engine::GenerateRequest* request);

// The many names of "do not think" and "think this much", and chat_template_kwargs, to the
// variables that templates know. Errors: kInvalidArgument naming the field.
Status read_template_kwargs(Fields& fields, Json* kwargs, std::optional<uint32_t>* budget);

struct StreamOptions {
  bool stream = false;
  bool include_usage = false;
};
StreamOptions read_stream_options(Fields& fields);

// The client's name for the model, which every answer repeats; ours if it gave none.
std::string read_model(Fields& fields, const Service& service);

// The prompt must leave room for one token unless max_tokens is 0.
// Errors: kInvalidArgument with the words that clients look for.
Status check_length(const Service& service, const engine::GenerateRequest& request);

// One request to n of them: the choices of one prompt.
void add_choices(engine::GenerateRequest request, int64_t n,
                 std::vector<engine::GenerateRequest>* out);

Json usage_json(const engine::Usage& usage);
// Choices of one prompt: its tokens count once.
void add_usage(const engine::Usage& choice, bool first_of_prompt, engine::Usage* total);

// Finite: minus infinity is -9999.
double finite_logprob(float logprob);

// {"token", "logprob", "bytes", "top_logprobs"}; of a token that has a logprob.
Json logprob_entry(const Service& service, const engine::TokenInfo& token);

int64_t unix_seconds();

// A token's bytes; control tokens by their spelling.
std::string_view token_bytes(const Service& service, TokenId id);

// Does this token end the reply without being part of it?
bool is_end_token(const Service& service, TokenId id, bool ignore_eos);

// "data: {...}\n\n"
void write_event(http::Exchange& exchange, Reply& reply, const Json& event);
void write_done(http::Exchange& exchange);

}  // namespace tempo9::server::openai
