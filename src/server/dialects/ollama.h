// The Ollama routes, under /api/.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "server/chat_job.h"
#include "server/generation.h"
#include "server/http/message.h"
#include "server/json_body.h"
#include "server/reply_parser.h"
#include "server/service.h"

namespace tempo9::server::ollama {

// GET: the root (Ollama's own client asks there whether anyone is in), version, tags, ps. POST:
// show, pull, chat, generate, embed and embeddings.
void root(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void version(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void tags(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void ps(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void show(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void pull(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void chat(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void generate(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void embed(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void embeddings(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);

// --- for the routes above

// Clients tell names and tags apart by the colon: "qwen" is "qwen:latest".
std::string tagged(const std::string& name);

// What chat and generate share: options, think, and what would change the reply and cannot be done.
void read_generation(Fields& fields, ChatJob* job);

// `think` (true, false, an effort or a number of tokens) to the variables that templates know.
// Absent: the model's way.
Status read_think(Fields& fields, Json* template_kwargs, std::optional<uint32_t>* budget);

// Errors: kInvalidArgument naming the place; kUnsupported for a picture in the newest user message.
Result<std::vector<chat::Message>> read_messages(const Json& value);

// Errors: kInvalidArgument with both numbers, in words on which clients compact.
Status check_length(const Service& service, const engine::GenerateRequest& request);

struct ReplyOptions {
  enum class Shape { kChat, kGenerate };
  Shape shape = Shape::kChat;
  std::string model;
  bool streamed = true;
  bool raw = false;                  // kGenerate: everything is response text
  std::vector<TokenId> prompt = {};  // kGenerate, not raw: what `context` begins with
  bool one_call = false;             // the reply ends behind its first call
  bool logprobs = false;
  bool ignore_eos = false;
  ReplyParserOptions parser;
  std::chrono::steady_clock::time_point start;  // of the request
};

std::unique_ptr<Reply> make_reply(std::shared_ptr<const Service> service, ReplyOptions options);

// {"model", "created_at"} of an answer that is given now.
Json envelope(const std::string& model);

}  // namespace tempo9::server::ollama
