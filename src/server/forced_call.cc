#include "server/forced_call.h"

#include <algorithm>

#include "chat/call_syntax.h"
#include "server/json_body.h"

namespace tempo9::server {

Result<CallOpening> open_call(std::string_view format, std::string_view name, bool in_thinking) {
  T9_TRY(const chat::CallSyntax syntax, chat::call_syntax(format));
  if (syntax.arguments == chat::CallSyntax::Arguments::kNone) {
    return make_error(ErrorCode::kUnsupported,
                      "tool_choice: \"required\" and named functions are not available for a model "
                      "without an output format for calls (it is \"{}\"); use \"auto\"",
                      format);
  }
  CallOpening opening;
  const auto add = [&opening](std::string text, bool is_template, bool is_token) {
    if (text.empty()) return;
    opening.segments.push_back({text, is_template});
    opening.increments.push_back({std::move(text), is_token});
  };
  // Marks apart from the text between them.
  const auto add_marked = [&](std::string_view text) {
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const auto mark =
          std::find_if(syntax.marks.begin(), syntax.marks.end(),
                       [&](std::string_view m) { return text.substr(at).starts_with(m); });
      if (mark == syntax.marks.end()) {
        ++at;
        continue;
      }
      add(std::string(text.substr(begin, at - begin)), true, false);
      add(std::string(*mark), true, true);
      at = begin = at + mark->size();
    }
    add(std::string(text.substr(begin)), true, false);
  };
  if (in_thinking && !syntax.thinking.empty()) {
    const std::string_view close = syntax.thinking.front().close;
    if (syntax.thinks_anywhere) {  // Harmony's is made of several, and begins the next message
      add_marked(close);
    } else {
      add(std::string(close), true, true);
      add("\n\n", true, false);
    }
  }
  const bool is_json_name = chat::writes_json_name(syntax);
  std::string before = std::string(syntax.begin) + std::string(syntax.call_begin);
  if (name.empty()) {
    // A blank or quote at the end is the first character of the model's next token.
    before.resize(before.find_last_not_of(is_json_name ? " \"" : " ") + 1);
    add_marked(before);
    return opening;
  }
  std::string behind(syntax.name_end);
  if (!syntax.number_mark.empty()) behind = std::string(syntax.number_mark) + "0" + behind;
  behind.resize(behind.find_last_not_of(' ') + 1);
  add_marked(before);
  std::string spelled(name);
  if (is_json_name) {
    spelled = dump(Json(name));
    spelled = spelled.substr(1, spelled.size() - 2);
  }
  add(std::move(spelled), false, false);
  add_marked(behind);
  return opening;
}

}  // namespace tempo9::server
