// tokenizer.ggml.model "bert": words, then the longest known pieces of each from the left. Files
// write a token that begins a word as U+2581 and the token, others without the original's "##".
// Sources: transformers' BertTokenizer; Schuster and Nakajima 2012.
#include <algorithm>
#include <iterator>

#include "tokenizer/families.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocab_tokenizer.h"

namespace tempo9::tokenizer {
namespace {

struct CodeRange {
  char32_t first, last;
};
struct Fold {
  char32_t code;
  char32_t to[3];  // 0: no more
};
#include "tokenizer/unicode_bert.inc"  // NOLINT

constexpr std::string_view kWordStart = "\xE2\x96\x81";  // U+2581
constexpr size_t kMaxWordCharacters = 100;  // a longer word is unknown, as in the original

template <size_t n>
bool is_in(const CodeRange (&ranges)[n], char32_t code) {
  const auto* it = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                    [](char32_t c, const CodeRange& r) { return c < r.first; });
  return it != std::begin(ranges) && code <= std::prev(it)->last;
}

// A character without its case and accents; appends to out.
void fold(char32_t code, std::u32string* out) {
  constexpr char32_t kHangul = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11A7;
  constexpr char32_t kVowels = 21, kTails = 28, kSyllables = 19 * kVowels * kTails;
  if (code >= kHangul && code < kHangul + kSyllables) {
    const char32_t s = code - kHangul;
    out->push_back(kLead + s / (kVowels * kTails));
    out->push_back(kVowel + s % (kVowels * kTails) / kTails);
    if (s % kTails != 0) out->push_back(kTail + s % kTails);
    return;
  }
  if (is_in(kAccents, code)) return;
  const auto* it = std::lower_bound(std::begin(kFolds), std::end(kFolds), code,
                                    [](const Fold& f, char32_t c) { return f.code < c; });
  if (it == std::end(kFolds) || it->code != code) return out->push_back(code);
  for (const char32_t to : it->to)
    if (to != 0) out->push_back(to);
}

class WordPiece final : public VocabTokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(VocabData vocab) {
    std::unique_ptr<WordPiece> made(new WordPiece(std::move(vocab)));
    if (made->unknown_ < 0) {
      return make_error(ErrorCode::kCorrupt,
                        "tokenizer.ggml.unknown_token_id is missing, and no token is '[UNK]'");
    }
    return std::unique_ptr<Tokenizer>(std::move(made));
  }

  void encode(std::string_view text, const EncodeOptions& options,
              std::vector<TokenId>* out) const override {
    encode_around_specials(text, options, out,
                           [&](std::string_view raw) { encode_text(raw, out); });
  }

  std::string decode(std::span<const TokenId> ids, bool spell_control) const override {
    std::string text = VocabTokenizer::decode(ids, spell_control);
    if (text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

 private:
  explicit WordPiece(VocabData vocab) : VocabTokenizer(std::move(vocab)) {
    unknown_ = this->vocab().unk >= 0 ? this->vocab().unk : find("[UNK]");
    std::string piece;
    for (TokenId id = 0; id < size(); ++id) {
      const std::string_view token = this->vocab().tokens[static_cast<size_t>(id)];
      const bool begins = token.starts_with(kWordStart);
      piece.assign(begins ? " " : "").append(token.substr(begins ? kWordStart.size() : 0));
      add_piece(piece);
      if (is_control(id)) continue;
      longest_ = std::max(longest_, token.size());
      // No key of the file says whether text loses its case. One token with a capital would never
      // come out of text that does.
      is_cased_ |= std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
    }
    add_specials([&](TokenId id) { return this->vocab().tokens[static_cast<size_t>(id)]; });
  }

  void encode_text(std::string_view text, std::vector<TokenId>* out) const {
    std::u32string word, folded;
    const auto end_word = [&] {
      if (!word.empty()) encode_word(word, out);
      word.clear();
    };
    for (const char *p = text.data(), *end = p + text.size(); p < end;) {
      const Character c = tokenizer::decode(p, end);
      p += c.n_bytes;
      if (c.code == kInvalid || is_in(kRemoved, c.code)) continue;
      if (is_in(kSpaces, c.code)) {
        end_word();
        continue;
      }
      const bool alone = is_in(kIdeographs, c.code);
      if (alone) end_word();
      folded.clear();
      is_cased_ ? folded.push_back(c.code) : fold(c.code, &folded);
      for (const char32_t code : folded) {
        const bool punctuation = is_in(kPunctuation, code);
        if (punctuation) end_word();
        word.push_back(code);
        if (punctuation) end_word();
      }
      if (alone) end_word();
    }
    end_word();
  }

  void encode_word(const std::u32string& word, std::vector<TokenId>* out) const {
    if (word.size() > kMaxWordCharacters) return out->push_back(unknown_);
    std::string bytes(kWordStart);
    std::vector<size_t> ends;  // of its characters
    for (const char32_t code : word) {
      append_utf8(code, &bytes);
      ends.push_back(bytes.size());
    }
    const size_t n_before = out->size();
    for (size_t begin = 0, first = 0; first < ends.size();) {
      size_t last = ends.size();
      TokenId id = -1;
      for (; last > first; --last) {
        const std::string_view piece =
            std::string_view(bytes).substr(begin, ends[last - 1] - begin);
        if (piece.size() > longest_) continue;
        if (first > 0 && piece.starts_with(kWordStart)) continue;  // that one begins a word
        id = find(piece);
        if (id >= 0 && !is_control(id)) break;
      }
      if (last == first) {  // then the whole word is
        out->resize(n_before);
        return out->push_back(unknown_);
      }
      out->push_back(id);
      begin = ends[last - 1];
      first = last;
    }
  }

  TokenId unknown_ = -1;
  size_t longest_ = 0;  // token, in bytes
  bool is_cased_ = false;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_word_piece(VocabData vocab) {
  return WordPiece::make(std::move(vocab));
}

}  // namespace tempo9::tokenizer
