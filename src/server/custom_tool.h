// Custom tools of the OpenAI dialects take one text, where functions take JSON. Models know
// functions: a custom tool is shown as one with a single string, and its calls are turned back.
#pragma once

#include <string>

#include "base/result.h"
#include "chat/message.h"

namespace tempo9::server {

inline constexpr const char* kCustomInput = "input";

// entry: {"name", "description", "format"}, the format's grammar beside its type (Responses) or
// inside "grammar" (chat completions). A grammar is told in the description, and kept for the rules
// of its calls. name: what the model sees. Errors: kInvalidArgument naming the place below where.
Result<chat::Tool> custom_as_function(const chat::Json& entry, const std::string& where,
                                      std::string name);

// The text of a call, from its arguments. What is not one string, "input", goes as it was written.
std::string custom_input(const std::string& arguments);
// And back, for calls that a client sends again.
chat::Json custom_arguments(std::string input);

}  // namespace tempo9::server
