// A compiled template: what the rest of the room uses of the template language.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/jinja/limits.h"
#include "chat/jinja/text.h"
#include "chat/message.h"

namespace tempo9::chat::jinja {

struct Tree;

struct Variables {
  Json outside = Json::object();  // its strings come from outside, and stay marked
  Json trusted =
      Json::object();  // its strings count as the template's own (bos_token...); wins over outside
  std::string now;     // ISO time; empty: the local clock
};

// Immutable; safe from any thread.
class Program {
 public:
  // Errors: kInvalidArgument, "line 3: reason".
  static Result<Program> compile(std::string_view source);

  // Errors: kInvalidArgument with the words of the exception (Python's own are led by their type,
  // "TypeError: ..."), kResourceExhausted past a limit.
  Result<Text> render(const Variables& variables, const Limits& limits = {}) const;

 private:
  std::shared_ptr<const Tree> tree_;
};

}  // namespace tempo9::chat::jinja
