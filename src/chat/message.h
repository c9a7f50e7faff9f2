// What a conversation is made of, whatever dialect it came in. Plain values; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tempo9::chat {

// Key order is kept from the request to the prompt and from the model to the client.
using Json = nlohmann::ordered_json;

// One element of a content array.
struct ContentPart {
  std::string type;  // "text", "image"...
  std::string text;  // of a text part
  Json raw;          // the element as it came; what a template that walks parts is given
};

struct ToolCall {
  std::string id;  // as the client echoed it; never looked up
  std::string name;
  Json arguments;  // an object, or a string that holds JSON text: templates see an object when it
                   // parses to one
};

struct Message {
  std::string role;  // system developer user assistant tool...
  bool content_null =
      false;         // content was null or absent (assistant messages that only call tools)
  std::string text;  // content given as a string
  std::vector<ContentPart> parts;    // content given as an array; text is empty then
  std::string reasoning_content;     // empty: none
  std::vector<ToolCall> tool_calls;  // assistant only
  std::string tool_call_id;          // tool only
  std::string name;                  // tool or participant name; empty: none
  Json extra = Json::object();       // every other field, handed to the template as it came
  std::vector<std::string> keys;     // order of the fields as they came; empty: the usual one

  // The text of the message: the string, or its text parts joined without anything between them.
  std::string joined_text() const;
  bool has_parts_beside_text() const;
};

// What a custom tool's one text must match.
struct TextGrammar {
  std::string syntax;  // "lark" or "regex"
  std::string definition;
  bool strict = false;  // one that cannot be held is an error, in place of a warning
};

struct Tool {
  std::string name;
  std::string description;
  Json parameters;  // JSON Schema object; null when the tool takes none
  Json raw;  // {"type": "function", "function": {...}} as it came; what the template is given
  std::optional<TextGrammar> grammar = {};  // of a custom tool: its parameters are {"input": text}
};

// A function as the OpenAI shape has it; an empty description is left out.
Tool function_tool(std::string name, std::string description, Json parameters);

struct ToolChoice {
  enum class Kind { kAuto, kNone, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;                  // kNamed only
  std::vector<std::string> allowed;  // kAuto and kRequired: only these may be called; empty: all
};

struct ChatRequest {
  std::vector<Message> messages;
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  bool add_generation_prompt = true;
  bool continue_final = false;            // the last assistant message is a prefix of the reply
  Json template_kwargs = Json::object();  // extra variables, e.g. enable_thinking
};

// The OpenAI shapes, which the other dialects are turned into. Unknown fields pass.
// Errors: kInvalidArgument, naming the place ("messages[2].tool_calls[0].function.name: ...").
Result<Message> message_from_json(const Json& value, const std::string& where);
Result<std::vector<Message>> messages_from_json(const Json& value);  // an array; empty is an error
// null, or an array; entries whose type is not "function" are left out (hosted tools of other
// vendors).
Result<std::vector<Tool>> tools_from_json(const Json& value);
// null: auto. Both shapes of a named tool, and of a list of allowed ones, are taken: with the names
// inside "function", "custom" or "allowed_tools", and beside "type".
Result<ToolChoice> tool_choice_from_json(const Json& value);

}  // namespace tempo9::chat
