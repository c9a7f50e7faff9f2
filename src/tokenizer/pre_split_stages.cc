// The splitters that are several regular expressions in a row: each stage cuts the pieces of the
// one before, and sees nothing of their neighbours (so "\s+(?!\S)" takes all the white space at the
// end of a piece).
#include "tokenizer/pre_match.h"
#include "tokenizer/pre_splitters.h"

namespace tempo9::tokenizer {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t n>
bool in_ranges(const Range (&ranges)[n], char32_t c) {  // ascending
  size_t low = 0, high = n;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (c > ranges[middle].last) {
      low = middle + 1;
    } else if (c < ranges[middle].first) {
      high = middle;
    } else {
      return true;
    }
  }
  return false;
}

// [in]* for a test on characters.
template <typename In>
const char* run_if(In in, const char* p, const char* end) {
  while (p < end) {
    const Character c = decode(p, end);
    if (!in(c)) break;
    p += c.n_bytes;
  }
  return p;
}

// "\s?[in]+"
template <typename In>
const char* after_space(In in, const char* p, const char* end) {
  const Character c = decode(p, end);
  if ((c.classes & kWhite) != 0) {
    const char* from = p + c.n_bytes;
    const char* q = run_if(in, from, end);
    if (q > from) return q;
  }
  return run_if(in, p, end);
}

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_punctuation(char c) {
  return c > ' ' && c < 0x7F && !is_ascii_letter(c) && !(c >= '0' && c <= '9');
}

const char* match_digit(const char* p, const char* end) { return digits(1, p, end); }
const char* match_digits(const char* p, const char* end) { return run_of(kNumber, p, end); }
const char* match_line_break(const char* p, const char*) {
  return is_newline(static_cast<unsigned char>(*p)) ? p + 1 : p;
}

// "[一-龥぀-ゟ゠-ヿ]+"
const char* match_cjk_kana(const char* p, const char* end) {
  static constexpr Range kRanges[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};
  return run_if([](const Character& c) { return in_ranges(kRanges, c.code); }, p, end);
}

// "[一-龥ࠀ-一가-퟿]+"
const char* match_east_asian(const char* p, const char* end) {
  static constexpr Range kRanges[] = {{0x0800, 0x9FA5}, {0xAC00, 0xD7FF}};
  return run_if([](const Character& c) { return in_ranges(kRanges, c.code); }, p, end);
}

// "[!-/:-@[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
// ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
const char* match_deepseek_v3(const char* p, const char* end) {
  if (is_ascii_punctuation(*p) && p + 1 < end && is_ascii_letter(p[1])) {
    const char* q = p + 2;
    while (q < end && is_ascii_letter(*q)) ++q;
    return q;
  }
  const Character c = decode(p, end);
  if (!is_newline(c.code) && (c.classes & (kLetter | kPunctuation | kSymbol)) == 0) {
    const char* from = p + c.n_bytes;
    if (const char* q = run_of(kLetter | kMark, from, end); q > from) return q;
  }
  if (const char* q = run_of(kLetter | kMark, p, end); q > p) return q;
  const char* from = *p == ' ' ? p + 1 : p;
  if (const char* q = run_of(kPunctuation | kSymbol, from, end); q > from) return newlines(q, end);
  return white_space(p, end, true);
}

// The cased letters of Latin, Greek, Cyrillic, Armenian, Georgian, Cherokee... as deepseek-llm
// lists them.
bool is_deepseek_letter(const Character& c) {
  static constexpr Range kRanges[] = {
      {0x0041, 0x005A},   {0x0061, 0x007A},   {0x00B5, 0x00B5},   {0x00C0, 0x00D6},
      {0x00D8, 0x00F6},   {0x00F8, 0x01BA},   {0x01BC, 0x01BF},   {0x01C4, 0x0293},
      {0x0295, 0x02AF},   {0x0370, 0x0373},   {0x0376, 0x0377},   {0x037B, 0x037D},
      {0x037F, 0x037F},   {0x0386, 0x0386},   {0x0388, 0x038A},   {0x038C, 0x038C},
      {0x038E, 0x03A1},   {0x03A3, 0x03F5},   {0x03F7, 0x0481},   {0x048A, 0x052F},
      {0x0531, 0x0556},   {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},
      {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},
      {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},
      {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},   {0x1F5B, 0x1F5B},
      {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
      {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},
      {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},
      {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},   {0x2115, 0x2115},
      {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
      {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
      {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},
      {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},
      {0xA680, 0xA69B},   {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},
      {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},
      {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
      {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
  };
  return in_ranges(kRanges, c.code);
}

// "[!-/:-~！-／：-～‘-‟　-。]"
bool is_deepseek_punctuation(const Character& c) {
  static constexpr Range kRanges[] = {{0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
                                      {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
  return in_ranges(kRanges, c.code);
}

bool is_default_punctuation(const Character& c) {
  return (c.classes & kPunctuation) != 0 ||
         (c.code < 0x80 &&
          std::string_view("$+<=>^~|").find(static_cast<char>(c.code)) != std::string_view::npos);
}

const char* match_deepseek_word(const char* p, const char* end) {
  return after_space(is_deepseek_letter, p, end);
}
const char* match_deepseek_marks(const char* p, const char* end) {
  return after_space(is_deepseek_punctuation, p, end);
}
const char* match_word(const char* p, const char* end) {
  return after_space([](const Character& c) { return (c.classes & kLetter) != 0; }, p, end);
}
const char* match_marks(const char* p, const char* end) {
  return after_space([](const Character& c) { return (c.classes & kPunctuation) != 0; }, p, end);
}
// "[\p{P}\$\+<=>\^~\|]+"
const char* match_default_marks(const char* p, const char* end) {
  return run_if(is_default_punctuation, p, end);
}

// "[0-9][0-9][0-9]"
const char* match_three(const char* p, const char* end) {
  if (end - p < 3) return p;
  for (int i = 0; i < 3; ++i) {
    if (p[i] < '0' || p[i] > '9') return p;
  }
  return p + 3;
}

// "\s+$" within a piece that has no line breaks: white space up to the end of the piece, from its
// first character on.
template <typename Then>
void isolate_trailing_space(const char* p, const char* end, Then then) {
  const char* tail = end;
  for (const char* q = p; q < end;) {
    const Character c = decode(q, end);
    if ((c.classes & kWhite) == 0) {
      tail = end;
    } else if (tail == end) {
      tail = q;
    }
    q += c.n_bytes;
  }
  if (p < tail) then(p, tail);
  if (tail < end) then(tail, end);
}

// Runs the matchers one after the other.
template <typename Then, typename Match>
void stages(const char* p, const char* end, Then then, Match last) {
  isolate(p, end, last, then);
}
template <typename Then, typename Match, typename... More>
void stages(const char* p, const char* end, Then then, Match first, More... more) {
  isolate(p, end, first, [&](const char* b, const char* e) { stages(b, e, then, more...); });
}

}  // namespace

// Digits one by one, then as GPT-2.
void split_smollm(std::string_view text, std::vector<size_t>* ends) {
  stages(text.data(), text.data() + text.size(), record(text, ends), match_digit, match_gpt2);
}

// What llama.cpp does with files that name no rule or "default": Falcon's, and the name has no
// other source.
void split_default(std::string_view text, std::vector<size_t>* ends) {
  stages(text.data(), text.data() + text.size(), record(text, ends), match_default_marks,
         match_gpt2, match_digits, match_three);
}

void split_deepseek_v3(std::string_view text, std::vector<size_t>* ends) {
  const auto three = [](const char* p, const char* end) { return digits(3, p, end); };
  stages(text.data(), text.data() + text.size(), record(text, ends), three, match_cjk_kana,
         match_deepseek_v3);
}

void split_deepseek_llm(std::string_view text, std::vector<size_t>* ends) {
  const auto then = record(text, ends);
  const auto tail = [&](const char* b, const char* e) {
    isolate_trailing_space(b, e, [&](const char* b2, const char* e2) {
      stages(b2, e2, then, match_east_asian, match_digit);
    });
  };
  stages(text.data(), text.data() + text.size(), tail, match_line_break, match_deepseek_word,
         match_deepseek_marks);
}

void split_deepseek_coder(std::string_view text, std::vector<size_t>* ends) {
  stages(text.data(), text.data() + text.size(), record(text, ends), match_line_break, match_word,
         match_marks, match_east_asian, match_digit);
}

}  // namespace tempo9::tokenizer
