#include "chat/parsers/prose.h"

#include <algorithm>
#include <array>

#include "chat/parsers/marks.h"

namespace tempo9::chat {

bool Prose::quotes() {
  quoted_ = quoted_ || last_ == '`';
  if (quoted_) return true;
  if (!in_fence()) return false;
  constexpr std::array<std::string_view, 7> kCallLanguages = {
      "", "json", "jsonl", "xml", "tool_call", "tool_calls", "tool_code"};
  const std::string_view info = without_blank_start(without_blank_end(info_));
  return fence_size_ > 3 ||
         std::find(kCallLanguages.begin(), kCallLanguages.end(), info) == kCallLanguages.end();
}

size_t Prose::pass(std::string_view rest, bool is_last) {
  const char c = rest.front();
  if (c == '`' || (c == '\n' && last_ == '\n')) quoted_ = false;
  if (c == '\n') {
    at_line_start_ = true;
    in_info_ = false;
    last_ = c;
    return 1;
  }
  if (at_line_start_ && (c == '`' || c == '~')) {
    const size_t size = std::min(rest.find_first_not_of(c), rest.size());
    if (size == rest.size() && !is_last) return 0;  // the fence may have more marks
    at_line_start_ = false;
    if (size >= 3) {
      last_ = '\0';
      if (!in_fence()) {
        fence_ = c;
        fence_size_ = size;
        in_info_ = true;
        info_.clear();
      } else if (c == fence_ && size >= fence_size_) {
        fence_size_ = 0;
      }
      return size;
    }
  }
  if (in_info_) info_ += c;
  if (c != ' ' && c != '\t' && c != '\r') at_line_start_ = false;
  last_ = c;
  return 1;
}

}  // namespace tempo9::chat
