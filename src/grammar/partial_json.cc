#include <string>
#include <utility>
#include <vector>

#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

constexpr size_t kMaxDepth = 512;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The length of a string, number or word that begins text; npos: it is not finished; 0: none does.
size_t scalar_size(std::string_view text, bool at_end) {
  if (text[0] == '"') {
    for (size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '"') return i + 1;
      if (text[i] == '\\') ++i;
    }
    return std::string_view::npos;
  }
  size_t n = 0;
  while (n < text.size() && text[n] != ',' && text[n] != ']' && text[n] != '}' && text[n] != ':' &&
         !is_blank(text[n])) {
    ++n;
  }
  if (n < text.size() || at_end) return n;
  const std::string_view word = text.substr(0, n);
  return word == "true" || word == "false" || word == "null" ? n : std::string_view::npos;
}

}  // namespace

std::optional<PartialJson> parse_partial(std::string_view text, bool at_end) {
  PartialJson out;
  std::vector<Json*> open;  // containers, outermost first; each is the last child of the one before
  std::optional<std::string> key;
  // Children live in vectors that may move while their parent grows, but only the last one is open.
  const auto add = [&](Json value) -> Json* {
    if (open.empty()) {
      out.value = std::move(value);
      out.has_value = true;
      return &out.value;
    }
    Json* parent = open.back();
    if (parent->is_array()) return &parent->emplace_back(std::move(value));
    if (parent->contains(*key)) out.repeated_key = true;
    Json& place = (*parent)[*key];
    place = std::move(value);
    key.reset();
    return &place;
  };
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (is_blank(c) || c == ',' || c == ':') {  // the grammar has seen to their places
      ++i;
      continue;
    }
    const bool wants_key = !open.empty() && open.back()->is_object() && !key;
    if (c == '{' || c == '[') {
      if (open.size() >= kMaxDepth || wants_key) return std::nullopt;
      open.push_back(add(c == '{' ? Json::object() : Json::array()));
      ++i;
    } else if (c == '}' || c == ']') {
      if (open.empty() || key) return std::nullopt;
      open.pop_back();
      ++i;
    } else {
      const size_t n = scalar_size(text.substr(i), at_end);
      if (n == std::string_view::npos) break;
      Json value = Json::parse(text.substr(i, n), nullptr, false);
      if (n == 0 || value.is_discarded()) return std::nullopt;
      i += n;
      if (wants_key) {
        if (!value.is_string()) return std::nullopt;
        key = value.get<std::string>();
        if (open.back()->contains(*key)) out.repeated_key = true;
        continue;
      }
      add(std::move(value));
    }
    if (open.empty() && out.has_value) {
      out.end = i;
      break;
    }
  }
  out.n_open = open.size();
  return out;
}

}  // namespace tempo9::grammar
