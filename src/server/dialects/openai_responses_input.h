// The items of a Responses request to the messages of a conversation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/message.h"
#include "server/dialects/openai_responses_tools.h"

namespace tempo9::server::openai {

// Our own encrypted_content: the reasoning's text, so that a client that sends back nothing else
// loses nothing. decode: nothing for what is not ours.
std::string encode_reasoning(const std::string& text);
std::optional<std::string> decode_reasoning(const std::string& encrypted);

// What the model wrote in one turn (reasoning, text, calls) is one assistant message again, so that
// the prompt of the next turn begins with the tokens of this one.
class ItemReader {
 public:
  // By an item's id; null: not known. tools and warnings must outlive the reader.
  using Lookup = std::function<const Json*(const std::string& id)>;
  ItemReader(ResponseTools* tools, Lookup lookup, std::vector<std::string>* warnings)
      : tools_(*tools), lookup_(std::move(lookup)), warnings_(*warnings) {}

  // where: the item's place, for errors. Errors: kInvalidArgument naming it, kNotFound for a
  // reference to an item that is not stored.
  Status read(const Json& item, const std::string& where);

  std::vector<chat::Message>& messages() { return messages_; }

 private:
  Status read_as(const std::string& type, const Json& item, const std::string& where);
  Status read_message(const Json& item, const std::string& where);
  Status read_assistant(const Json& item, const std::string& where);
  Status read_reasoning(const Json& item, const std::string& where);
  Status read_function_call(const Json& item, const std::string& where);
  Status read_named_call(const Json& item, const std::string& where, const char* name,
                         const char* arguments_key);
  Status read_output(const Json& item, const std::string& where, const char* key);
  Status read_loaded_tools(const Json& item, const std::string& where, bool is_output);
  Status read_mcp_call(const Json& item, const std::string& where);
  void add_call(std::string id, std::string name, Json arguments);
  void warn_skipped(const std::string& type, const std::string& where);
  chat::Message& assistant();  // the one that is open, or a new one

  ResponseTools& tools_;
  Lookup lookup_;
  std::vector<std::string>& warnings_;
  std::vector<chat::Message> messages_;
  std::vector<std::string> skipped_;  // types that were warned of
  bool open_ = false;                 // messages_.back() is an assistant turn that may go on
};

}  // namespace tempo9::server::openai
