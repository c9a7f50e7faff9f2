#include "chat/jinja/wrap.h"

#include <algorithm>

#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace tempo9::chat::jinja {
namespace {

// textwrap knows only these as white space.
bool is_blank(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_word(char32_t c) {
  return c == '_' || (char_classes(c) & (kAlpha | kDecimal | kDigit | kNumeric)) != 0;
}
bool is_letter(char32_t c) { return is_word(c) && (char_classes(c) & kDecimal) == 0; }

int64_t width_of(const Text& text) { return static_cast<int64_t>(count_chars(text.view())); }

// Words and the white space between them; a word is cut behind a hyphen that joins two words of
// letters.
std::vector<Text> chunks_of(const Text& line, bool hyphens) {
  std::vector<size_t> at;
  std::vector<char32_t> chars;
  for (size_t i = 0; i < line.size();) {
    auto [c, n] = decode_utf8(line.view(), i);
    at.push_back(i);
    chars.push_back(c);
    i += n;
  }
  at.push_back(line.size());
  auto joins = [&](size_t i) {  // a hyphen at i with two letters before and behind
    return hyphens && chars[i] == '-' && i >= 2 && i + 2 < chars.size() &&
           is_letter(chars[i - 1]) && is_word(chars[i - 2]) && is_word(chars[i + 1]) &&
           is_letter(chars[i + 2]);
  };
  std::vector<Text> out;
  size_t begin = 0;
  for (size_t i = 0; i < chars.size(); ++i) {
    bool last = i + 1 == chars.size();
    if (last || is_blank(chars[i]) != is_blank(chars[i + 1]) || joins(i)) {
      out.push_back(line.slice(at[begin], at[i + 1]));
      begin = i + 1;
    }
  }
  return out;
}

size_t bytes_of_chars(const Text& text, int64_t n) {
  size_t at = 0;
  for (int64_t i = 0; i < n && at < text.size(); ++i) at += decode_utf8(text.view(), at).n_bytes;
  return at;
}

}  // namespace

std::vector<Text> wrap_line(const Text& line, const WrapOptions& options) {
  std::vector<Text> rest = chunks_of(line, options.break_on_hyphens);
  std::reverse(rest.begin(), rest.end());  // next one at the back
  std::vector<Text> lines;
  auto blank = [](const Text& t) { return is_blank(decode_utf8(t.view(), 0).c); };
  while (!rest.empty()) {
    std::vector<Text> current;
    int64_t used = 0;
    if (!lines.empty() && blank(rest.back())) rest.pop_back();
    while (!rest.empty() && used + width_of(rest.back()) <= options.width) {
      used += width_of(rest.back());
      current.push_back(std::move(rest.back()));
      rest.pop_back();
    }
    if (!rest.empty() && width_of(rest.back()) > options.width) {
      int64_t space = std::max<int64_t>(options.width - used, 0);
      if (options.width < 1) space = 1;
      if (options.break_long_words && space > 0) {
        Text word = std::move(rest.back());
        size_t cut = bytes_of_chars(word, space);
        if (options.break_on_hyphens && width_of(word) > space) {
          size_t hyphen = word.bytes().rfind('-', cut == 0 ? 0 : cut - 1);
          bool has_text =
              hyphen != std::string::npos && word.bytes().find_first_not_of('-') < hyphen;
          if (has_text && hyphen > 0) cut = hyphen + 1;
        }
        current.push_back(word.slice(0, cut));
        rest.back() = word.slice(cut, word.size());
      } else if (current.empty()) {
        current.push_back(std::move(rest.back()));
        rest.pop_back();
      }
    }
    if (!current.empty() && blank(current.back())) current.pop_back();
    if (!current.empty()) lines.push_back(join(Text(), current));
  }
  return lines;
}

}  // namespace tempo9::chat::jinja
