// The reply of a text completion: chunks, or one body.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/dialects/openai.h"

namespace tempo9::server::openai {

struct CompletionPrompt {
  std::string text;  // what echo shows
  std::vector<TokenId> ids;
  bool bos_added = false;  // the first id is not in text
  bool is_ids = false;     // the client sent ids
};

struct CompletionReplyOptions {
  std::string model;
  bool streamed = false;
  bool include_usage = false;
  bool echo = false;
  bool logprobs = false;
  bool tokens_as_ids = false;  // "token_id:N" for token strings
  bool return_token_ids = false;
  bool ignore_eos = false;
  bool spell_control = false;  // as in the request to the engine
  size_t n_per_prompt = 1;     // choices that are written
  size_t n_shown = 1;          // of a prompt's, the likeliest
  std::vector<CompletionPrompt> prompts;
};

// Choice i belongs to prompt i / n_per_prompt.
std::unique_ptr<Reply> make_completion_reply(std::shared_ptr<const Service> service,
                                             CompletionReplyOptions options);

}  // namespace tempo9::server::openai
