#include "server/forced_call.h"

#include "server/json_body.h"

namespace tempo9::server {

Result<CallOpening> open_call(std::string_view format, std::string_view name, bool in_thinking) {
  if (format != "hermes") {
    return make_error(ErrorCode::kUnsupported,
                      "tool_choice: \"required\" and named functions are not available yet for "
                      "this model's output format "
                      "\"{}\"; use \"auto\"",
                      format);
  }
  CallOpening opening;
  const auto add = [&opening](std::string text, bool is_template, bool is_token) {
    opening.segments.push_back({text, is_template});
    opening.increments.push_back({std::move(text), is_token});
  };
  if (in_thinking) {
    add("</think>", true, true);
    add("\n\n", true, false);
  }
  add("<tool_call>", true, true);
  // No space behind the last colon: it is the first character of the model's next token.
  if (name.empty()) {
    add("\n{\"name\":", true, false);
  } else {
    add("\n{\"name\": ", true, false);
    add(dump(Json(name)), false, false);
    add(", \"arguments\":", true, false);
  }
  return opening;
}

}  // namespace tempo9::server
