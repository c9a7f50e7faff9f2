// tokenizer.ggml.model "llama" (SentencePiece BPE: Llama 2, Mistral, Gemma 2 and 3) and "gemma4":
// characters are merged over the whole text, a space being U+2581; what is no token goes as bytes.
// Source: Kudo and Richardson 2018 (arXiv:1808.06226). "llama" files hold scores: the merges, in
// order, follow from them. "gemma4" files list them.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tokenizer/families.h"
#include "tokenizer/merges.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocab_tokenizer.h"
#include "tokenizer/word_cache.h"

namespace tempo9::tokenizer {
namespace {

constexpr char32_t kSpaceCode = 0x2581;
constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581 in UTF-8

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = 0;;) {
    const size_t found = text.find(from, at);
    result.append(text.substr(at, found - at));
    if (found == std::string_view::npos) return result;
    result.append(to);
    at = found + from.size();
  }
}

// "<0x0A>" gives 10, anything else -1.
int byte_of(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return -1;
  int value = 0;
  for (const char c : spelling.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'A' && c <= 'F')) return -1;
    value = value * 16 + (digit ? c - '0' : c - 'A' + 10);
  }
  return value;
}

// Which characters stand side by side within some token: no merge can reach over two that never do,
// so a text may be cut there. A set of hashes; a false yes only makes a longer stretch.
class Neighbours {
 public:
  void add(char32_t left, char32_t right) {
    const uint64_t bit = bit_of(left, right);
    bits_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  bool may_merge(char32_t left, char32_t right) const {
    const uint64_t bit = bit_of(left, right);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }

 private:
  static constexpr uint64_t kBits = uint64_t{1} << 22;
  static uint64_t bit_of(char32_t left, char32_t right) {
    return mix(static_cast<uint64_t>(left) << 32 | right) % kBits;
  }
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(kBits / 64);
};

class SentencePiece final : public VocabTokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(VocabData vocab, bool add_space_prefix) {
    std::unique_ptr<SentencePiece> made(new SentencePiece(std::move(vocab), add_space_prefix));
    if (made->vocab().model == "llama") {
      made->derive_merges();
    } else {
      T9_TRY(read_merges(*made, &made->merges_));
    }
    return std::unique_ptr<Tokenizer>(std::move(made));
  }

  void encode(std::string_view text, const EncodeOptions& options,
              std::vector<TokenId>* out) const override {
    Session session(*this);
    encode_around_specials(text, options, out,
                           [&](std::string_view raw) { session.encode(raw, out); });
  }

  std::string decode(std::span<const TokenId> ids, bool spell_control) const override {
    std::string text = VocabTokenizer::decode(ids, spell_control);
    if (add_space_prefix_ && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

 private:
  SentencePiece(VocabData vocab, bool add_space_prefix)
      : VocabTokenizer(std::move(vocab)), add_space_prefix_(add_space_prefix) {
    byte_ids_.fill(-1);
    const std::vector<std::string>& tokens = this->vocab().tokens;
    forms_index_.reserve(tokens.size());
    for (TokenId id = 0; id < size(); ++id) {
      const std::string& token = tokens[static_cast<size_t>(id)];
      const int byte = type(id) == TokenType::kByte ? byte_of(token) : -1;
      if (byte >= 0) {
        const char c = static_cast<char>(byte);
        byte_ids_[static_cast<size_t>(byte)] = id;
        add_piece(std::string_view(&c, 1));
      } else {
        add_piece(replace_all(token, kSpace, " "));
      }
      // In memory every space is U+2581; files write user-defined runs of it as spaces.
      forms_.add(type(id) == TokenType::kUserDefined ? replace_all(token, " ", kSpace) : token);
      if (is_text(id)) {
        forms_index_.insert(forms_, id);
        note_neighbours(forms_[static_cast<size_t>(id)]);
      }
    }
    for (char32_t c = 0; c < 128; ++c) ascii_[c] = find_character(c);
    add_specials([&](TokenId id) { return std::string(forms_[static_cast<size_t>(id)]); });
  }

  bool is_text(TokenId id) const {
    return type(id) == TokenType::kNormal || type(id) == TokenType::kUserDefined;
  }

  void note_neighbours(std::string_view form) {
    const char* end = form.data() + form.size();
    char32_t left = kInvalid;
    for (const char* p = form.data(); p < end;) {
      const Character c = tokenizer::decode(p, end);
      if (p > form.data()) neighbours_.add(left, c.code);
      left = c.code;
      p += c.n_bytes;
    }
  }

  // -1: no token is this character.
  TokenId find_character(char32_t code) const {
    std::string utf8;
    append_utf8(code == ' ' ? kSpaceCode : code, &utf8);
    return forms_index_.find(forms_, utf8);
  }

  void derive_merges();

  // One encode call's working memory.
  class Session {
   public:
    explicit Session(const SentencePiece& model) : model_(model), merger_(model.merges_) {}

    void encode(std::string_view text, std::vector<TokenId>* out) {
      const char* const end = text.data() + text.size();
      bool prefix =
          model_.add_space_prefix_;  // stands in front of the first stretch, not in the text
      char32_t left = prefix ? kSpaceCode : kInvalid;
      const char* begin = text.data();
      for (const char* p = begin; p < end;) {
        const Character c = tokenizer::decode(p, end);
        const char32_t code = c.code == ' ' ? kSpaceCode : c.code;
        const bool first = p == text.data();
        if ((!first || prefix) && !model_.neighbours_.may_merge(left, code)) {
          encode_stretch({begin, p}, prefix, out);
          prefix = false;
          begin = p;
        }
        left = code;
        p += c.n_bytes;
      }
      encode_stretch({begin, end}, prefix, out);
    }

   private:
    void encode_stretch(std::string_view text, bool prefix, std::vector<TokenId>* out) {
      const bool cached = !prefix && text.size() > 1 && text.size() <= WordCache::kMaxBytes;
      if (cached && cache_.append(text, out)) return;
      const size_t first = out->size();
      symbols_.clear();
      if (prefix) add_character(' ', kSpace);
      const char* end = text.data() + text.size();
      for (const char* p = text.data(); p < end;) {
        const Character c = tokenizer::decode(p, end);
        add_character(c.code, {p, c.n_bytes});
        p += c.n_bytes;
      }
      merger_.merge(&symbols_);
      out->insert(out->end(), symbols_.begin(), symbols_.end());
      if (cached) cache_.remember(text, first, *out);
    }

    void add_character(char32_t code, std::string_view bytes) {
      const TokenId id =
          code < 128 ? model_.ascii_[code] : model_.forms_index_.find(model_.forms_, bytes);
      if (id >= 0 && code != kInvalid) {
        symbols_.push_back(id);
        return;
      }
      for (const char c : bytes) {
        const TokenId byte_id = model_.byte_ids_[static_cast<unsigned char>(c)];
        if (byte_id >= 0) {
          symbols_.push_back(byte_id);
        } else if (model_.vocab().unk >= 0) {
          symbols_.push_back(model_.vocab().unk);
        }
      }
    }

    const SentencePiece& model_;
    Merger merger_;
    WordCache cache_;
    std::vector<TokenId> symbols_;
  };

  const bool add_space_prefix_;
  Pieces forms_;             // spellings with U+2581 for every space
  StringIndex forms_index_;  // of forms_, tokens that are text only
  Neighbours neighbours_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_;
  std::array<TokenId, 128> ascii_;
};

// A token is made from any two tokens whose joining it is. Tokens go by falling score, user-defined
// ones first; ties between the ways to make them as Hugging Face's converter breaks them, so that
// both give the same ids: the longer left part first, then the longer right part, then the order of
// the vocabulary.
void SentencePiece::derive_merges() {
  const auto score = [&](TokenId id) {
    return type(id) == TokenType::kUserDefined ? INFINITY : vocab().scores[static_cast<size_t>(id)];
  };
  std::vector<TokenId> order;
  for (TokenId id = 0; id < size(); ++id) {
    if (is_text(id) && forms_index_.find(forms_, forms_[static_cast<size_t>(id)]) == id)
      order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](TokenId a, TokenId b) { return score(a) > score(b); });

  struct Way {
    uint32_t n_left, n_right;  // characters
    TokenId left, right, merged;
  };
  std::vector<Way> ways;
  std::vector<size_t> group_ends;  // in ways: groups of equal score
  std::vector<size_t> cuts;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string_view form = forms_[static_cast<size_t>(order[i])];
    cuts.clear();
    const char* end = form.data() + form.size();
    for (const char* p = form.data(); p < end;) {
      p += tokenizer::decode(p, end).n_bytes;
      cuts.push_back(static_cast<size_t>(p - form.data()));
    }
    for (size_t n_left = cuts.size() - std::min<size_t>(cuts.size(), 1); n_left > 0; --n_left) {
      const TokenId left = forms_index_.find(forms_, form.substr(0, cuts[n_left - 1]));
      if (left < 0) continue;
      const TokenId right = forms_index_.find(forms_, form.substr(cuts[n_left - 1]));
      if (right < 0) continue;
      const auto n_right = static_cast<uint32_t>(cuts.size() - n_left);
      ways.push_back({static_cast<uint32_t>(n_left), n_right, left, right, order[i]});
    }
    if (i + 1 == order.size() || score(order[i + 1]) < score(order[i]))
      group_ends.push_back(ways.size());
  }
  merges_.reserve(ways.size());
  uint32_t rank = 0;
  size_t begin = 0;
  for (const size_t end : group_ends) {
    std::stable_sort(ways.begin() + static_cast<ptrdiff_t>(begin),
                     ways.begin() + static_cast<ptrdiff_t>(end), [](const Way& a, const Way& b) {
                       return a.n_left != b.n_left ? a.n_left > b.n_left : a.n_right > b.n_right;
                     });
    for (; begin < end; ++begin)
      merges_.add(ways[begin].left, ways[begin].right, {rank++, ways[begin].merged});
  }
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_sentencepiece(VocabData vocab) {
  if (vocab.scores.empty()) {
    return make_error(
        ErrorCode::kCorrupt,
        "tokenizer.ggml.scores is missing; a tokenizer.ggml.model of 'llama' needs it");
  }
  for (size_t i = 0; i < vocab.scores.size(); ++i) {
    if (std::isnan(vocab.scores[i])) {
      return make_error(ErrorCode::kCorrupt, "tokenizer.ggml.scores[{}] is not a number", i);
    }
  }
  const bool add_space_prefix = vocab.add_space_prefix;
  return SentencePiece::make(std::move(vocab), add_space_prefix);
}

Result<std::unique_ptr<Tokenizer>> make_gemma4(VocabData vocab) {
  return SentencePiece::make(std::move(vocab), false);
}

}  // namespace tempo9::tokenizer
