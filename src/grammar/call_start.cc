#include "grammar/call_start.h"

#include <algorithm>
#include <cctype>

namespace tempo9::grammar {
namespace {

// Takes pieces off a text's end.
class Backwards {
 public:
  explicit Backwards(std::string_view text) : text_(text) {}
  bool take(std::string_view piece) {
    if (!text_.ends_with(piece)) return false;
    text_.remove_suffix(piece.size());
    return true;
  }
  void skip(std::string_view characters) {
    while (!text_.empty() && characters.find(text_.back()) != std::string_view::npos) {
      text_.remove_suffix(1);
    }
  }
  void skip_blank() { skip(" \t\r\n"); }
  std::optional<std::string_view> take_string() {
    if (!take("\"")) return std::nullopt;
    const size_t begin = text_.rfind('"');
    if (begin == std::string_view::npos) return std::nullopt;
    const std::string_view inner = text_.substr(begin + 1);
    if (inner.find('\\') != std::string_view::npos) return std::nullopt;
    text_.remove_suffix(inner.size() + 1);
    return inner;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

bool is_of_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '-' || c == '.' ||
         (byte >= 0x80 && byte < static_cast<unsigned char>(kCallEnd));
}

std::string_view name_at_end(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && is_of_name(text[begin - 1])) --begin;
  return text.substr(begin);
}

std::string_view name_at_start(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_of_name(text[end])) ++end;
  return text.substr(0, end);
}

// In the middle of a line it would be an example of a call.
bool may_stand_behind(std::string_view rest, const std::vector<std::string>& leads) {
  Backwards at(rest);
  at.skip(" \t");
  return at.rest().empty() || at.rest().ends_with('\n') ||
         std::ranges::any_of(leads,
                             [&](const std::string& lead) { return at.rest().ends_with(lead); });
}

// head: all that stands before end.
std::string_view called_name(const CallStart& start, std::string_view head) {
  if (start.end_is_mark) {
    constexpr size_t kLongestGap = 128;
    const size_t at = head.rfind(start.before);
    if (at == std::string_view::npos) return {};
    const std::string_view behind = head.substr(at + start.before.size());
    const std::string_view name = name_at_start(behind);
    return behind.size() - name.size() <= kLongestGap ? name : std::string_view();
  }
  Backwards at(head);
  at.skip_blank();
  head = at.rest();
  const std::string_view name = name_at_end(head);
  Backwards rest(head.substr(0, head.size() - name.size()));
  rest.skip_blank();
  const std::string_view before_name = rest.rest();
  if (rest.take(start.before) &&
      (start.before_is_mark || may_stand_behind(rest.rest(), start.leads)))
    return name;
  // In a list, behind a call.
  const size_t last = before_name.rfind(kCallEnd);
  const bool is_next = !start.next.empty() && last != std::string_view::npos &&
                       before_name.ends_with(start.next) &&
                       before_name.find('(', last) == std::string_view::npos;
  return is_next ? name : std::string_view();
}

}  // namespace

std::string_view call_opening(std::string_view text, const std::vector<std::string>& leads) {
  Backwards at(text);
  if (!at.take(":")) return {};
  at.skip_blank();
  if (!at.take("\"arguments\"") && !at.take("\"parameters\"")) return {};
  at.skip_blank();
  if (!at.take(",")) return {};
  at.skip_blank();
  const auto name = at.take_string();
  if (!name) return {};
  at.skip_blank();
  if (!at.take(":")) return {};
  at.skip_blank();
  if (!at.take("\"name\"")) return {};
  at.skip_blank();
  if (!at.take("{")) return {};
  // Also in a list of calls, and in tags that models use in place of their template's.
  at.skip(" \t");
  for (const std::string_view lead : {"[", ",", "<tool_call>", "\"function\":"}) {
    if (at.rest().ends_with(lead)) return *name;
  }
  return may_stand_behind(at.rest(), leads) ? *name : std::string_view();
}

std::optional<BegunCall> find_call(const CallStart& start, std::string_view text, size_t from,
                                   const std::function<bool(std::string_view)>& is_offered) {
  for (size_t at = from; at < text.size(); ++at) {
    const std::string_view read = text.substr(0, at + 1);
    if (text[at] == ':') {
      if (const auto name = call_opening(read, start.leads); !name.empty() && is_offered(name))
        return BegunCall{name, at + 1};
    }
    if (start.before.empty()) continue;
    std::string_view name;
    size_t arguments = at + 1;
    if (!start.end.empty()) {
      if (read.ends_with(start.end))
        name = called_name(start, read.substr(0, read.size() - start.end.size()));
    } else if (!is_of_name(text[at])) {
      name = called_name(start, text.substr(0, at));
      arguments = at;
    }
    if (!name.empty() && is_offered(name)) return BegunCall{name, arguments};
  }
  return std::nullopt;
}

}  // namespace tempo9::grammar
