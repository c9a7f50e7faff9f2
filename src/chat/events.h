// What a reply is made of, as typed events: the only thing that dialects see of a model's output.
#pragma once

#include <string>
#include <variant>

namespace tempo9::chat {

struct TextDelta {
  std::string text;  // whole UTF-8 characters if the increments were; never empty
  bool operator==(const TextDelta&) const = default;
};
struct ReasoningDelta {
  std::string text;
  bool operator==(const ReasoningDelta&) const = default;
};
// index counts the calls of one reply from 0. A call's events come together and only once it is
// complete and valid, so a client never sees half a call.
struct ToolCallBegin {
  int index = 0;
  std::string id;  // unique
  std::string name;
  bool operator==(const ToolCallBegin&) const = default;
};
struct ToolCallArgsDelta {
  int index = 0;
  std::string json;  // joined over a call: one compact JSON object, keys in the model's order; "{}"
                     // for none
  bool operator==(const ToolCallArgsDelta&) const = default;
};
struct ToolCallEnd {
  int index = 0;
  bool operator==(const ToolCallEnd&) const = default;
};

using Event =
    std::variant<TextDelta, ReasoningDelta, ToolCallBegin, ToolCallArgsDelta, ToolCallEnd>;

}  // namespace tempo9::chat
