#include "chat/jinja/unicode.h"

#include <algorithm>
#include <iterator>

namespace tempo9::chat::jinja {
namespace {

struct ClassRun {
  char32_t first, last;
  uint16_t flags;
};
struct CaseRow {
  char32_t c, upper, lower, title;
};
struct LongCaseRow {
  char32_t c;
  std::string_view upper, lower, title;
};
struct FoldRow {
  char32_t c;
  std::string_view folded;
};

#define T9_CASE(c, upper, lower, title)
#define T9_CASE_LONG(c, upper, lower, title)
#define T9_FOLD(c, folded)
#define T9_CLASS(first, last, flags) {first, last, flags},
constexpr ClassRun kClasses[] = {
#include "chat/jinja/unicode.inc"
};
#undef T9_CLASS
#define T9_CLASS(first, last, flags)
#undef T9_CASE
#define T9_CASE(c, upper, lower, title) {c, upper, lower, title},
constexpr CaseRow kCases[] = {
#include "chat/jinja/unicode.inc"
};
#undef T9_CASE
#define T9_CASE(c, upper, lower, title)
#undef T9_CASE_LONG
#define T9_CASE_LONG(c, upper, lower, title) {c, upper, lower, title},
constexpr LongCaseRow kLongCases[] = {
#include "chat/jinja/unicode.inc"
};
#undef T9_CASE_LONG
#define T9_CASE_LONG(c, upper, lower, title)
#undef T9_FOLD
#define T9_FOLD(c, folded) {c, folded},
constexpr FoldRow kFolds[] = {
#include "chat/jinja/unicode.inc"
};
#undef T9_CLASS
#undef T9_CASE
#undef T9_CASE_LONG
#undef T9_FOLD

template <typename Row, size_t N>
const Row* find_row(const Row (&rows)[N], char32_t c) {
  const Row* it = std::lower_bound(std::begin(rows), std::end(rows), c,
                                   [](const Row& row, char32_t key) { return row.c < key; });
  return it != std::end(rows) && it->c == c ? it : nullptr;
}

}  // namespace

uint16_t char_classes(char32_t c) {
  const ClassRun* it =
      std::upper_bound(std::begin(kClasses), std::end(kClasses), c,
                       [](char32_t key, const ClassRun& run) { return key < run.first; });
  if (it == std::begin(kClasses)) return 0;
  --it;
  return c <= it->last ? it->flags : uint16_t{0};
}

void append_case(char32_t c, Case to, std::string* out) {
  if (to == Case::kFold) {
    if (const FoldRow* row = find_row(kFolds, c)) {
      out->append(row->folded);
      return;
    }
    to = Case::kLower;
  }
  if (const CaseRow* row = find_row(kCases, c)) {
    append_utf8(to == Case::kUpper   ? row->upper
                : to == Case::kLower ? row->lower
                                     : row->title,
                out);
  } else if (const LongCaseRow* longer = find_row(kLongCases, c)) {
    out->append(to == Case::kUpper   ? longer->upper
                : to == Case::kLower ? longer->lower
                                     : longer->title);
  } else {
    append_utf8(c, out);
  }
}

void append_utf8(char32_t c, std::string* out) {
  auto push = [out](char32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0 | (c >> 6));
    push(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    push(0xE0 | (c >> 12));
    push(0x80 | ((c >> 6) & 0x3F));
    push(0x80 | (c & 0x3F));
  } else {
    push(0xF0 | (c >> 18));
    push(0x80 | ((c >> 12) & 0x3F));
    push(0x80 | ((c >> 6) & 0x3F));
    push(0x80 | (c & 0x3F));
  }
}

Decoded decode_utf8(std::string_view bytes, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  size_t n = lead >= 0xF0 && lead < 0xF5   ? 4
             : lead >= 0xE0 && lead < 0xF0 ? 3
             : lead >= 0xC2 && lead < 0xE0 ? 2
                                           : 1;
  constexpr char32_t kReplacement = 0xFFFD;
  if (n == 1 || at + n > bytes.size()) return {kReplacement, 1};
  char32_t c = lead & (0xFFu >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {kReplacement, 1};
    c = (c << 6) | (byte(at + i) & 0x3F);
  }
  return {c, n};
}

size_t count_chars(std::string_view bytes) {
  size_t n = 0;
  for (size_t at = 0; at < bytes.size(); at += decode_utf8(bytes, at).n_bytes) ++n;
  return n;
}

}  // namespace tempo9::chat::jinja
