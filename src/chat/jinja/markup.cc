#include "chat/jinja/markup.h"

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {

Text escape_html(const Text& text, bool force) {
  if (text.markup() && !force) return text;
  Text out;
  text.for_each_run([&](std::string_view run, bool outside) {
    size_t plain = 0;
    for (size_t i = 0; i < run.size(); ++i) {
      std::string_view entity = run[i] == '&'    ? "&amp;"
                                : run[i] == '<'  ? "&lt;"
                                : run[i] == '>'  ? "&gt;"
                                : run[i] == '"'  ? "&#34;"
                                : run[i] == '\'' ? "&#39;"
                                                 : "";
      if (entity.empty()) continue;
      out.append(run.substr(plain, i - plain), outside);
      out.append(entity, outside);
      plain = i + 1;
    }
    out.append(run.substr(plain), outside);
  });
  out.set_markup(true);
  return out;
}

namespace {

Text without(const Text& text, std::string_view open, std::string_view close) {
  Text out;
  size_t at = 0;
  std::string_view bytes = text.view();
  for (;;) {
    size_t begin = bytes.find(open, at);
    size_t end = begin == std::string_view::npos ? begin : bytes.find(close, begin);
    if (end == std::string_view::npos) break;
    out.append_slice(text, at, begin);
    at = end + close.size();
  }
  out.append_slice(text, at, text.size());
  return out;
}

Text collapse_space(const Text& text) {
  Text out;
  bool space = false;
  for (size_t at = 0; at < text.size();) {
    auto [c, n] = decode_utf8(text.view(), at);
    if (is_space(c)) {
      space = true;
    } else {
      if (space && !out.empty()) out.append(" ", false);
      space = false;
      out.append_slice(text, at, at + n);
    }
    at += n;
  }
  return out;
}

// "&lt;" at the front: its character; empty if it is none that we know.
std::string entity(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNamed = {
      {{"amp", "&"},
       {"lt", "<"},
       {"gt", ">"},
       {"quot", "\""},
       {"apos", "'"},
       {"nbsp", "\xC2\xA0"}}};
  for (const auto& [known, value] : kNamed) {
    if (known == name) return std::string(value);
  }
  if (name.size() < 2 || name[0] != '#') return {};
  bool hex = name[1] == 'x' || name[1] == 'X';
  std::string_view digits = name.substr(hex ? 2 : 1);
  uint32_t c = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), c, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || c == 0 || c > 0x10FFFF)
    return {};
  std::string out;
  append_utf8(c, &out);
  return out;
}

}  // namespace

Text strip_tags(const Text& text) {
  Text plain = collapse_space(without(without(text, "<!--", "-->"), "<", ">"));
  Text out;
  for (size_t at = 0; at < plain.size();) {
    size_t end = plain.bytes()[at] == '&' ? plain.bytes().find(';', at) : std::string::npos;
    std::string resolved =
        end == std::string::npos ? "" : entity(plain.view().substr(at + 1, end - at - 1));
    if (resolved.empty()) {
      out.append_slice(plain, at, at + 1);
      ++at;
    } else {
      out.append(resolved, plain.outside_at(at));
      at = end + 1;
    }
  }
  return out;
}

}  // namespace tempo9::chat::jinja
