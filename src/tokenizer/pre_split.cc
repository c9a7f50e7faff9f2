// The splitters that are one regular expression. Each quotes it, as the original tokenizer.json has
// it.
#include "tokenizer/pre_match.h"
#include "tokenizer/pre_splitters.h"

namespace tempo9::tokenizer {
namespace {

constexpr ClassMask kWordOther = kWhite | kLetter | kNumber;

// "[^\r\n\p{L}\p{N}]?[letters]+"
const char* prefixed_word(ClassMask letters, const char* p, const char* end) {
  const Character c = decode(p, end);
  if (!is_newline(c.code) && (c.classes & (kLetter | kNumber)) == 0) {
    const char* q = run_of(letters, p + c.n_bytes, end);
    if (q > p + c.n_bytes) return q;
  }
  return run_of(letters, p, end);
}

// " ?[^set]+"
const char* spaced_without(ClassMask set, const char* p, const char* end) {
  const char* from = *p == ' ' ? p + 1 : p;
  const char* q = run_without(set, from, end);
  return q > from ? q : p;
}

// Llama 3, Qwen2, Qwen3.5 and their like differ in two numbers:
// "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[letters]+|\p{N}{1,n}| ?[^\s letters
// \p{N}]+[\r\n]*
//  |\s*[\r\n]+|\s+(?!\S)|\s+"
const char* match_llama3(ClassMask letters, int n_digits, const char* p, const char* end) {
  if (const char* q = contraction(p, end, true); q > p) return q;
  if (const char* q = prefixed_word(letters, p, end); q > p) return q;
  if (const char* q = digits(n_digits, p, end); q > p) return q;
  if (const char* q = spaced_without(kWhite | letters | kNumber, p, end); q > p)
    return newlines(q, end);
  return white_space(p, end, true);
}

// "[upper]*[lower]+" (needs_lower) or "[upper]+[lower]*", where upper = Lu Lt Lm Lo M and lower =
// Ll Lm Lo M.
const char* cased_word(bool needs_lower, const char* p, const char* end) {
  constexpr ClassMask kBoth = kModifier | kOtherLetter | kMark;
  constexpr ClassMask kUppers = kUpper | kTitle | kBoth, kLowers = kLower | kBoth;
  const char* after_both =
      nullptr;  // where [upper]* may give back to: behind it, [lower]+ has one character at least
  const char* q = p;
  while (q < end) {
    const Character c = decode(q, end);
    if ((c.classes & kUppers) == 0) break;
    q += c.n_bytes;
    if ((c.classes & kBoth) != 0) after_both = q;
  }
  if (!needs_lower) return q > p ? run_of(kLowers, q, end) : p;
  const char* lower_end = run_of(kLowers, q, end);
  if (lower_end > q) return lower_end;
  return after_both != nullptr ? after_both : p;
}

// "[^\r\n\p{L}\p{N}]?" in front of either.
const char* prefixed_cased_word(bool needs_lower, const char* p, const char* end) {
  const Character c = decode(p, end);
  if (!is_newline(c.code) && (c.classes & (kLetter | kNumber)) == 0) {
    const char* word = p + c.n_bytes;
    if (word < end) {
      if (const char* q = cased_word(needs_lower, word, end); q > word) return q;
    }
  }
  return cased_word(needs_lower, p, end);
}

// "[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(contractions)?
//  |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(contractions)?
//  |\p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
const char* match_gpt4o(bool contractions, int n_digits, const char* p, const char* end) {
  for (const bool needs_lower : {true, false}) {
    if (const char* q = prefixed_cased_word(needs_lower, p, end); q > p) {
      return contractions ? contraction(q, end, true) : q;
    }
  }
  if (const char* q = digits(n_digits, p, end); q > p) return q;
  if (const char* q = spaced_without(kWordOther, p, end); q > p) return newlines(q, end, true);
  return white_space(p, end, true);
}

}  // namespace

const char* match_gpt2(const char* p, const char* end) {
  if (const char* q = contraction(p, end, false); q > p) return q;
  const char* from = *p == ' ' ? p + 1 : p;
  if (from < end) {
    const ClassMask classes = decode(from, end).classes;
    if ((classes & kLetter) != 0) return run_of(kLetter, from, end);
    if ((classes & kNumber) != 0) return run_of(kNumber, from, end);
    if ((classes & kWhite) == 0) return run_without(kWordOther, from, end);
  }
  return white_space(p, end, false);
}

void split_gpt2(std::string_view text, std::vector<size_t>* ends) {
  isolate(text.data(), text.data() + text.size(), match_gpt2, record(text, ends));
}

void split_llama3(std::string_view text, std::vector<size_t>* ends) {
  const auto match = [](const char* p, const char* end) {
    return match_llama3(kLetter, 3, p, end);
  };
  isolate(text.data(), text.data() + text.size(), match, record(text, ends));
}

void split_qwen2(std::string_view text, std::vector<size_t>* ends) {
  const auto match = [](const char* p, const char* end) {
    return match_llama3(kLetter, 1, p, end);
  };
  isolate(text.data(), text.data() + text.size(), match, record(text, ends));
}

void split_qwen35(std::string_view text, std::vector<size_t>* ends) {
  const auto match = [](const char* p, const char* end) {
    return match_llama3(kLetter | kMark, 1, p, end);
  };
  isolate(text.data(), text.data() + text.size(), match, record(text, ends));
}

void split_gpt4o(std::string_view text, std::vector<size_t>* ends) {
  const auto match = [](const char* p, const char* end) { return match_gpt4o(true, 3, p, end); };
  isolate(text.data(), text.data() + text.size(), match, record(text, ends));
}

void split_tekken(std::string_view text, std::vector<size_t>* ends) {
  const auto match = [](const char* p, const char* end) { return match_gpt4o(false, 1, p, end); };
  isolate(text.data(), text.data() + text.size(), match, record(text, ends));
}

}  // namespace tempo9::tokenizer
