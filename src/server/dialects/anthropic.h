// The Anthropic routes: POST /v1/messages and POST /v1/messages/count_tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"
#include "server/generation.h"
#include "server/http/message.h"
#include "server/json_body.h"
#include "server/reply_parser.h"
#include "server/service.h"

namespace tempo9::server::anthropic {

void messages(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void count_tokens(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);

// --- for the routes above

// Anthropic's `tools`, by what becomes of them.
struct Tools {
  std::vector<chat::Tool> shown;     // in front of the prompt
  std::vector<chat::Tool> deferred;  // where a tool_reference names them
};

// Tools that run on the vendor's servers are left out, each with a warning. value null: none.
// Errors: kInvalidArgument naming the place.
Result<Tools> read_tools(const Json* value, std::vector<std::string>* warnings);

struct ToolChoice {
  chat::ToolChoice choice;
  bool parallel = true;
};
Result<ToolChoice> read_tool_choice(const Json* value);  // null: auto

// `system` and `messages` as chat messages: blocks of text joined as they stand, a tool_result as a
// message of its own, cache_control and ids without a trace, so that the same meaning gives the
// same prompt. A billing stamp at the head of a system block is left out: it changes with each
// conversation, and nothing behind it could be found in the prefix cache.
// deferred: what a tool_reference shows.
// Errors: kInvalidArgument naming the place; kUnsupported for a picture or file in the newest user
// message (elsewhere a note stands in).
Result<std::vector<chat::Message>> read_messages(const Json* system, const Json* messages,
                                                 const std::vector<chat::Tool>& deferred);

// A signature for a thinking block. With display "omitted" the client sees no text, so the
// signature carries it, and the next turn's prompt has it again.
std::string sign_thinking(std::string_view thinking, bool omitted);

struct MessageReplyOptions {
  std::string model;
  bool streamed = false;
  bool omit_thinking = false;  // thinking.display "omitted"
  size_t n_prompt_tokens = 0;
  ReplyParserOptions parser;
  bool one_call = false;  // the reply ends behind its first call
  std::vector<std::string> warnings;
};

std::unique_ptr<Reply> make_message_reply(std::shared_ptr<const Service> service,
                                          MessageReplyOptions options);

// The header that says what was left out of a request. Empty: no header.
http::Headers warning_headers(const std::vector<std::string>& warnings);

}  // namespace tempo9::server::anthropic
