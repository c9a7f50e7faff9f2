// From a conversation to a request for the engine: what every chat dialect does once it has brought
// its body into the shapes of chat/message.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat.h"
#include "engine/engine.h"
#include "server/call_list.h"
#include "server/json_body.h"
#include "server/reply_parser.h"
#include "server/service.h"
#include "server/structure.h"

namespace tempo9::server {

struct ChatJob {
  engine::GenerateRequest request;
  Structure structure;  // the form that the client asks for
  ReplyParserOptions parser;
  bool one_call = false;                      // the choice ends behind its first call
  std::optional<uint32_t> thinking_budget;    // tokens; none: thinking ends by itself
  std::shared_ptr<const CallList> call_list;  // for generate(); may be null
};

// Pictures, sounds and parts of unknown types: refused in the newest user message (kUnsupported, or
// kInvalidArgument for the unknown ones; the message begins with field); a note stands in for older
// ones, and for those in tool results, so that an agent's loop goes on. The assistant's parts of
// unknown types stay out of its text.
Status replace_media(std::string_view field, std::vector<chat::Message>* messages);

// The note: "[image left out: this model takes text only]".
std::string media_note(std::string_view type);

// reasoning_effort, whatever a dialect calls it, to the variables that templates know.
// Errors: kInvalidArgument naming field and the known words.
Status apply_effort(std::string_view field, const std::string& effort, chat::Json* kwargs);

// A bound on thinking, under the names that clients have for it: thinking_budget (Qwen's API,
// SGLang), thinking_token_budget (vLLM), thinking_budget_tokens and reasoning_budget_tokens
// (llama.cpp). -1: none.
void read_thinking_budget(Fields& fields, std::optional<uint32_t>* out);
void set_thinking_budget(std::optional<int64_t> value, std::optional<uint32_t>* out);  // same rule

// Renders and encodes, begins a forced call, holds the reply to its form and its calls to their
// tools, and fills what the reply's parser needs. Tools that
// are in job->parser.parser.tools already are callable without being shown at the prompt's front
// (the conversation shows them). Sampling and limits in job->request are the dialect's, and so is
// the check of the prompt's length. Errors: kInvalidArgument for a choice of tools that are not
// declared, and as ChatTemplate::render.
Status prepare_chat(const Service& service, chat::RenderInput input, const chat::ToolChoice& choice,
                    bool parallel_calls, ChatJob* job);

}  // namespace tempo9::server
