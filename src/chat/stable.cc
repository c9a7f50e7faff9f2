#include "chat/stable.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tempo9::chat {
namespace {

constexpr std::string_view kStamp = "x-anthropic-billing-header:";
constexpr std::string_view kSpace = " \t\r\n";

bool is_stamp_at(std::string_view text, size_t at) {
  if (text.size() - at < kStamp.size()) return false;
  return std::ranges::equal(text.substr(at, kStamp.size()), kStamp, {}, [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
}

// Whether anything was taken off.
bool strip(std::string* text) {
  const size_t n = billing_stamp(*text);
  text->erase(0, n);
  return n > 0;
}

}  // namespace

size_t billing_stamp(const std::string& text) {
  size_t end = 0;
  for (;;) {
    const size_t at = text.find_first_not_of(kSpace, end);
    if (at == std::string::npos || !is_stamp_at(text, at)) return end;
    const size_t line_end = text.find('\n', at);
    if (line_end == std::string::npos) return text.size();
    end = std::min(text.find_first_not_of("\r\n", line_end), text.size());
  }
}

std::vector<Message> without_stamps(std::vector<Message> messages) {
  std::erase_if(messages, [](Message& m) {
    if (m.role != "system" && m.role != "developer") return false;
    bool stripped = strip(&m.text);
    std::erase_if(m.parts, [&](ContentPart& part) {
      if (part.type != "text" || !strip(&part.text)) return false;
      stripped = true;
      if (part.raw.is_object()) part.raw["text"] = part.text;
      return part.text.empty();
    });
    return stripped && m.text.empty() && m.parts.empty();
  });
  return messages;
}

}  // namespace tempo9::chat
