// The reply of a chat completion: chunks, or one body.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/dialects/openai.h"
#include "server/reply_parser.h"

namespace tempo9::server::openai {

struct ChatReplyOptions {
  std::string model;
  bool streamed = false;
  bool include_usage = false;
  size_t n_choices = 1;
  bool ignore_eos = false;
  bool logprobs = false;
  bool return_token_ids = false;
  std::vector<TokenId> prompt_token_ids;  // with return_token_ids
  bool one_call = false;                  // the choice ends behind its first call
  ReplyParserOptions parser;
  std::vector<std::string> custom_tools;  // names of tools that take one text
};

std::unique_ptr<Reply> make_chat_reply(std::shared_ptr<const Service> service,
                                       ChatReplyOptions options);

}  // namespace tempo9::server::openai
