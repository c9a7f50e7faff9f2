#include "tokenizer/pre_match.h"

namespace tempo9::tokenizer {

const char* contraction(const char* p, const char* end, bool fold) {
  if (end - p < 2 || *p != '\'') return p;
  const auto letter = [&](const char* at) {
    if (at >= end) return '\0';
    return fold && *at >= 'A' && *at <= 'Z' ? static_cast<char>(*at - 'A' + 'a') : *at;
  };
  const char first = letter(p + 1), second = letter(p + 2);
  if (first == 's' || first == 't') return p + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return p + 3;
  if (first == 'm') return p + 2;
  if (first == 'l' && second == 'l') return p + 3;
  if (first == 'd') return p + 2;
  constexpr std::string_view kLongS = "\xC5\xBF";
  if (fold && std::string_view(p + 1, static_cast<size_t>(end - p - 1)).starts_with(kLongS))
    return p + 3;
  return p;
}

const char* white_space(const char* p, const char* end, bool newline_rule) {
  const char* after_newline = nullptr;
  const char* last = p;  // start of the run's last character
  const char* q = p;
  while (q < end) {
    const Character c = decode(q, end);
    if ((c.classes & kWhite) == 0) break;
    last = q;
    q += c.n_bytes;
    if (is_newline(c.code)) after_newline = q;
  }
  if (newline_rule && after_newline != nullptr) return after_newline;
  if (q == end || last == p) return q;
  return last;
}

}  // namespace tempo9::tokenizer
