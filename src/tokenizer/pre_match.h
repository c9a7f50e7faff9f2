// The pieces that the original regular expressions share, as matchers: each takes the rest of a
// text, [p, end), and returns where its match ends, or p itself if there is none. They are greedy
// with the regex's own backtracking.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tokenizer/unicode.h"

namespace tempo9::tokenizer {

T9_INLINE bool is_newline(char32_t c) { return c == '\r' || c == '\n'; }

// [set]* from p on.
T9_INLINE const char* run_of(ClassMask set, const char* p, const char* end) {
  while (p < end) {
    const Character c = decode(p, end);
    if ((c.classes & set) == 0) break;
    p += c.n_bytes;
  }
  return p;
}

// [^set]* from p on.
T9_INLINE const char* run_without(ClassMask set, const char* p, const char* end) {
  while (p < end) {
    const Character c = decode(p, end);
    if ((c.classes & set) != 0) break;
    p += c.n_bytes;
  }
  return p;
}

// [\r\n]* and [\r\n/]*
inline const char* newlines(const char* p, const char* end, bool slash_too = false) {
  while (p < end && (*p == '\r' || *p == '\n' || (slash_too && *p == '/'))) ++p;
  return p;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d); with fold false only in lower case. Long s (U+017F) is an s to
// (?i).
const char* contraction(const char* p, const char* end, bool fold);

// \p{N}{1,max}
inline const char* digits(int max, const char* p, const char* end) {
  while (max-- > 0 && p < end) {
    const Character c = decode(p, end);
    if ((c.classes & kNumber) == 0) break;
    p += c.n_bytes;
  }
  return p;
}

// \s*[\r\n]+|\s+(?!\S)|\s+ with newline_rule, else \s+(?!\S)|\s+
const char* white_space(const char* p, const char* end, bool newline_rule);

// A regex split with behaviour "isolated": calls then(begin, end) for each match and for what lies
// between matches.
template <typename Match, typename Then>
void isolate(const char* p, const char* end, Match match, Then then) {
  const char* gap = p;
  while (p < end) {
    const char* match_end = match(p, end);
    if (match_end == p) {
      p += decode(p, end).n_bytes;
      continue;
    }
    if (gap < p) then(gap, p);
    then(p, match_end);
    gap = p = match_end;
  }
  if (gap < p) then(gap, p);
}

// The last stage of a splitter: records where the piece ends.
inline auto record(std::string_view text, std::vector<size_t>* ends) {
  return [begin = text.data(), ends](const char*, const char* e) {
    ends->push_back(static_cast<size_t>(e - begin));
  };
}

}  // namespace tempo9::tokenizer
