#include "chat/parsers/marks.h"

#include <algorithm>

namespace tempo9::chat {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

size_t partial_at_end(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (text.substr(text.size() - n) == mark.substr(0, n)) return n;
  }
  return 0;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlank) == std::string_view::npos;
}

std::string_view without_blank_end(std::string_view text) {
  size_t last = text.find_last_not_of(kBlank);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view without_blank_start(std::string_view text) {
  size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

}  // namespace tempo9::chat
