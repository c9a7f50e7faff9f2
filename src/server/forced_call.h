// tool_choice "required" and named functions, without a grammar: the reply is begun for the model,
// in its own format, so that all it can do is go on with a call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat.h"

namespace tempo9::server {

struct CallOpening {
  std::vector<chat::Segment> segments;  // behind the generation prompt
  // The same as the output parser must see it: marks apart from text.
  struct Increment {
    std::string text;
    bool is_token;
  };
  std::vector<Increment> increments;
};

// name: the function to call; empty: any. in_thinking: the prompt ends inside a thinking block,
// which is closed first. Errors: kUnsupported for a format whose calls cannot be begun this way.
Result<CallOpening> open_call(std::string_view format, std::string_view name, bool in_thinking);

}  // namespace tempo9::server
