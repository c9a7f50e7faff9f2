// NFC. Source: Unicode Standard Annex 15 and chapter 3.11-3.12 of the standard (Hangul by
// arithmetic).
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "tokenizer/unicode.h"

namespace tempo9::tokenizer {
namespace {

using tables::CombiningClass;
using tables::Composition;
using tables::Decomposition;
#include "tokenizer/unicode_nfc.inc"  // NOLINT

constexpr char32_t kHangul = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11A7;
constexpr char32_t kVowels = 21, kTails = 28, kSyllables = 19 * kVowels * kTails;
// An invalid byte b travels as kRawByte + b: above all code points, without class, composing with
// nothing.
constexpr char32_t kRawByte = 0x110000;

struct Item {
  char32_t code;
  uint8_t ccc;  // canonical combining class; 0: a starter
};

uint8_t combining_class(char32_t code) {
  if (code < 0x300) return 0;
  const auto* it =
      std::lower_bound(std::begin(kCombiningClasses), std::end(kCombiningClasses), code,
                       [](const CombiningClass& a, char32_t c) { return a.code < c; });
  return it != std::end(kCombiningClasses) && it->code == code ? it->value : uint8_t{0};
}

void decompose(char32_t code, std::vector<Item>* out) {
  if (code < 0xC0) return out->push_back({code, 0});
  if (code >= kHangul && code < kHangul + kSyllables) {
    const char32_t s = code - kHangul;
    out->push_back({kLead + s / (kVowels * kTails), 0});
    out->push_back({kVowel + s % (kVowels * kTails) / kTails, 0});
    if (s % kTails != 0) out->push_back({kTail + s % kTails, 0});
    return;
  }
  const auto* it = std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                                    [](const Decomposition& a, char32_t c) { return a.code < c; });
  if (it == std::end(kDecompositions) || it->code != code)
    return out->push_back({code, combining_class(code)});
  for (uint32_t i = 0; i < it->n; ++i) {
    const char32_t part = kExpansions[it->first + i];
    out->push_back({part, combining_class(part)});
  }
}

// 0: the two do not compose.
char32_t compose(char32_t first, char32_t second) {
  if (first >= kLead && first < kLead + 19 && second >= kVowel && second < kVowel + kVowels) {
    return kHangul + ((first - kLead) * kVowels + second - kVowel) * kTails;
  }
  if (first >= kHangul && first < kHangul + kSyllables && (first - kHangul) % kTails == 0 &&
      second > kTail && second < kTail + kTails) {
    return first + second - kTail;
  }
  const auto* it = std::lower_bound(
      std::begin(kCompositions), std::end(kCompositions), std::pair(first, second),
      [](const Composition& a, const auto& pair) { return std::pair(a.first, a.second) < pair; });
  return it != std::end(kCompositions) && it->first == first && it->second == second ? it->composed
                                                                                     : 0;
}

// Canonical order: runs of marks sorted by class, equals keeping their order.
void reorder(std::vector<Item>* items) {
  for (size_t i = 0; i < items->size();) {
    size_t end = i + 1;
    if ((*items)[i].ccc != 0) {
      while (end < items->size() && (*items)[end].ccc != 0) ++end;
      std::stable_sort(items->begin() + static_cast<ptrdiff_t>(i),
                       items->begin() + static_cast<ptrdiff_t>(end),
                       [](const Item& a, const Item& b) { return a.ccc < b.ccc; });
    }
    i = end;
  }
}

void recompose(std::vector<Item>* items) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t starter = kNone, n = 0;
  uint8_t last = 0;  // class of the item before, if it was kept
  for (const Item item : *items) {
    // Blocked: something between starter and item has a class not below item's.
    const bool adjacent = starter != kNone && starter + 1 == n;
    if (starter != kNone && (adjacent || last < item.ccc)) {
      if (const char32_t composed = compose((*items)[starter].code, item.code)) {
        (*items)[starter].code = composed;
        continue;
      }
    }
    if (item.ccc == 0) starter = n;
    last = item.ccc;
    (*items)[n++] = item;
  }
  items->resize(n);
}

// Appends the NFC of [p, end).
void append_nfc(const char* p, const char* end, std::vector<Item>* items, std::string* out) {
  items->clear();
  while (p < end) {
    const Character c = decode(p, end);
    if (c.code == kInvalid) {
      items->push_back({kRawByte + static_cast<unsigned char>(*p), 0});
    } else {
      decompose(c.code, items);
    }
    p += c.n_bytes;
  }
  reorder(items);
  recompose(items);
  for (const Item item : *items) {
    if (item.code >= kRawByte) {
      out->push_back(static_cast<char>(item.code - kRawByte));
    } else {
      append_utf8(item.code, out);
    }
  }
}

}  // namespace

// A safe character starts afresh: it has class 0 and composes with nothing before it. So only
// stretches of unsafe ones change, together with the character in front of each.
bool to_nfc(std::string_view text, std::string* out) {
  const char* const end = text.data() + text.size();
  const char* done = text.data();  // all before is in out
  const char* before = done;       // start of the character before p
  std::vector<Item> items;
  bool changed = false;
  for (const char* p = done; p < end;) {
    const Character c = decode(p, end);
    if ((c.classes & kNotNfcSafe) == 0) {
      before = p;
      p += c.n_bytes;
      continue;
    }
    if (!changed) {
      changed = true;
      out->clear();
      out->reserve(text.size());
    }
    const char* stretch_end = p + c.n_bytes;
    while (stretch_end < end) {
      const Character next = decode(stretch_end, end);
      if ((next.classes & kNotNfcSafe) == 0) break;
      stretch_end += next.n_bytes;
    }
    out->append(done, before);
    append_nfc(before, stretch_end, &items, out);
    p = before = done = stretch_end;
  }
  if (changed) out->append(done, end);
  return changed;
}

}  // namespace tempo9::tokenizer
