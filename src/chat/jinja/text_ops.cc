#include "chat/jinja/text_ops.h"

#include <algorithm>
#include <utility>

namespace tempo9::chat::jinja {
namespace {

constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2;

// Where the character that ends at `end` begins.
size_t previous(std::string_view s, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(s[at]) & 0xC0) == 0x80) --at;
  return decode_utf8(s, at).n_bytes == end - at ? at : end - 1;
}

bool in_set(char32_t c, std::string_view set) {
  for (size_t at = 0; at < set.size();) {
    auto [d, n] = decode_utf8(set, at);
    if (c == d) return true;
    at += n;
  }
  return false;
}

bool is_cased(char32_t c) { return (char_classes(c) & (kUpper | kLower | kTitle)) != 0; }

// Marks and signs that a word goes on across.
bool is_case_ignorable(char32_t c) {
  return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xAD || c == 0xB7 ||
         c == 0x2019 || (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F);
}

// A capital sigma is written as a final one at the end of a word.
bool ends_word(std::string_view s, size_t begin, size_t end) {
  bool before = false;
  for (size_t at = begin; at > 0;) {
    at = previous(s, at);
    char32_t c = decode_utf8(s, at).c;
    if (is_case_ignorable(c)) continue;
    before = is_cased(c);
    break;
  }
  if (!before) return false;
  while (end < s.size()) {
    auto [c, n] = decode_utf8(s, end);
    end += n;
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

// Maps every character; f(c, begin, end, out) appends what takes its place.
template <typename F>
Text map_chars(const Text& text, F&& f) {
  Text out;
  std::string mapped;
  size_t base = 0;
  text.for_each_run([&](std::string_view run, bool outside) {
    mapped.clear();
    for (size_t at = 0; at < run.size();) {
      auto [c, n] = decode_utf8(run, at);
      if (c == 0xFFFD && n == 1)
        mapped.append(run.substr(at, n));
      else
        f(c, base + at, base + at + n, &mapped);
      at += n;
    }
    base += run.size();
    out.append(mapped, outside);
  });
  out.set_markup(text.markup());
  return out;
}

void append_lower(std::string_view all, char32_t c, size_t begin, size_t end, std::string* out) {
  if (c == kSigma && ends_word(all, begin, end))
    append_utf8(kFinalSigma, out);
  else
    append_case(c, Case::kLower, out);
}

size_t line_end(std::string_view s, size_t at, size_t* n_bytes) {
  for (; at < s.size();) {
    auto [c, n] = decode_utf8(s, at);
    bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
                c == 0x2029;
    if (ends) {
      *n_bytes = c == '\r' && at + 1 < s.size() && s[at + 1] == '\n' ? 2 : n;
      return at;
    }
    at += n;
  }
  *n_bytes = 0;
  return s.size();
}

}  // namespace

Text strip(const Text& text, Side side, const Text* chars) {
  std::string_view s = text.view();
  auto strips = [&](char32_t c) {
    return chars == nullptr ? is_space(c) : in_set(c, chars->view());
  };
  size_t begin = 0, end = s.size();
  if (side != Side::kRight) {
    while (begin < end) {
      auto [c, n] = decode_utf8(s, begin);
      if (!strips(c)) break;
      begin += n;
    }
  }
  if (side != Side::kLeft) {
    while (end > begin) {
      size_t at = previous(s, end);
      if (!strips(decode_utf8(s, at).c)) break;
      end = at;
    }
  }
  return text.slice(begin, end);
}

namespace {

std::vector<Text> split_space(const Text& text, int64_t max_split) {
  std::vector<Text> out;
  std::string_view s = text.view();
  size_t at = 0;
  auto skip = [&](bool space) {
    while (at < s.size()) {
      auto [c, n] = decode_utf8(s, at);
      if (is_space(c) != space) break;
      at += n;
    }
  };
  for (;;) {
    skip(true);
    if (at >= s.size()) return out;
    size_t begin = at;
    if (max_split >= 0 && static_cast<int64_t>(out.size()) >= max_split) {
      out.push_back(text.slice(begin, s.size()));
      return out;
    }
    skip(false);
    out.push_back(text.slice(begin, at));
  }
}

std::vector<Text> rsplit_space(const Text& text, int64_t max_split) {
  std::vector<Text> out;
  std::string_view s = text.view();
  size_t end = s.size();
  auto skip = [&](bool space) {
    while (end > 0) {
      size_t at = previous(s, end);
      if (is_space(decode_utf8(s, at).c) != space) break;
      end = at;
    }
  };
  for (;;) {
    skip(true);
    if (end == 0) break;
    if (max_split >= 0 && static_cast<int64_t>(out.size()) >= max_split) {
      out.push_back(text.slice(0, end));
      break;
    }
    size_t stop = end;
    skip(false);
    out.push_back(text.slice(end, stop));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<Text> split(const Text& text, const Text* separator, int64_t max_split) {
  if (separator == nullptr) return split_space(text, max_split);
  std::vector<Text> out;
  size_t at = 0;
  while (max_split < 0 || static_cast<int64_t>(out.size()) < max_split) {
    size_t found = text.bytes().find(separator->bytes(), at);
    if (found == std::string::npos) break;
    out.push_back(text.slice(at, found));
    at = found + separator->size();
  }
  out.push_back(text.slice(at, text.size()));
  return out;
}

std::vector<Text> rsplit(const Text& text, const Text* separator, int64_t max_split) {
  if (separator == nullptr) return rsplit_space(text, max_split);
  std::vector<Text> out;
  size_t end = text.size();
  while (max_split < 0 || static_cast<int64_t>(out.size()) < max_split) {
    if (end < separator->size()) break;
    size_t found = text.bytes().rfind(separator->bytes(), end - separator->size());
    if (found == std::string::npos) break;
    out.push_back(text.slice(found + separator->size(), end));
    end = found;
  }
  out.push_back(text.slice(0, end));
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
  std::vector<Text> out;
  for (size_t at = 0; at < text.size();) {
    size_t n = 0;
    size_t end = line_end(text.view(), at, &n);
    out.push_back(text.slice(at, keep_ends ? end + n : end));
    at = end + n;
  }
  return out;
}

Text replace(const Text& text, const Text& old, const Text& replacement, int64_t count) {
  Text out;
  out.set_markup(text.markup());
  size_t at = 0;
  if (old.empty()) {  // between all characters, and at both ends
    for (int64_t n = 0; count < 0 || n < count; ++n) {
      out.append(replacement);
      if (at >= text.size()) return out;
      size_t next = at + decode_utf8(text.view(), at).n_bytes;
      out.append_slice(text, at, next);
      at = next;
    }
  } else {
    for (int64_t n = 0; count < 0 || n < count; ++n) {
      size_t found = text.bytes().find(old.bytes(), at);
      if (found == std::string::npos) break;
      out.append_slice(text, at, found);
      out.append(replacement);
      at = found + old.size();
    }
  }
  out.append_slice(text, at, text.size());
  return out;
}

Text to_case(const Text& text, Case to) {
  return map_chars(text, [&](char32_t c, size_t begin, size_t end, std::string* out) {
    if (to == Case::kLower)
      append_lower(text.view(), c, begin, end, out);
    else
      append_case(c, to, out);
  });
}

Text capitalize(const Text& text) {
  return map_chars(text, [&](char32_t c, size_t begin, size_t end, std::string* out) {
    if (begin == 0)
      append_case(c, Case::kTitle, out);
    else
      append_lower(text.view(), c, begin, end, out);
  });
}

Text swap_case(const Text& text) {
  return map_chars(text, [&](char32_t c, size_t begin, size_t end, std::string* out) {
    uint16_t classes = char_classes(c);
    if ((classes & kUpper) != 0)
      append_lower(text.view(), c, begin, end, out);
    else if ((classes & kLower) != 0)
      append_case(c, Case::kUpper, out);
    else
      append_utf8(c, out);
  });
}

Text title_case(const Text& text) {
  bool in_word = false;
  return map_chars(text, [&](char32_t c, size_t begin, size_t end, std::string* out) {
    if (in_word)
      append_lower(text.view(), c, begin, end, out);
    else
      append_case(c, Case::kTitle, out);
    in_word = is_cased(c);
  });
}

Text join(const Text& separator, const std::vector<Text>& parts) {
  Text out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out.append(separator);
    out.append(parts[i]);
  }
  out.set_markup(separator.markup());
  return out;
}

Text padded(const Text& text, int64_t left, int64_t right, const Text& fill) {
  Text out;
  for (int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (int64_t i = 0; i < right; ++i) out.append(fill);
  out.set_markup(text.markup());
  return out;
}

Text first_chars(const Text& text, int64_t n) {
  if (n < 0) n = std::max<int64_t>(n + static_cast<int64_t>(count_chars(text.view())), 0);
  size_t at = 0;
  for (int64_t i = 0; i < n && at < text.size(); ++i) at += decode_utf8(text.view(), at).n_bytes;
  return text.slice(0, at);
}

Text expand_tabs(const Text& text, int64_t size) {
  Text out;
  int64_t column = 0;
  for (size_t at = 0; at < text.size();) {
    auto [c, n] = decode_utf8(text.view(), at);
    if (c == '\t') {
      int64_t spaces = size > 0 ? size - column % size : 0;
      out.append(std::string(static_cast<size_t>(spaces), ' '), text.outside_at(at));
      column += spaces;
    } else {
      out.append_slice(text, at, at + n);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
    at += n;
  }
  return out;
}

}  // namespace tempo9::chat::jinja
