// tokenizer.ggml.model "gpt2": the text is cut into pieces (pre_tokenizer.h), each piece's bytes
// are merged by rank. Source: Sennrich et al. 2016 (arXiv:1508.07909); the byte alphabet: Radford
// et al. 2019 (GPT-2).
#include <fmt/ranges.h>

#include <array>

#include "tokenizer/families.h"
#include "tokenizer/merge_reach.h"
#include "tokenizer/merges.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocab_tokenizer.h"
#include "tokenizer/word_cache.h"

namespace tempo9::tokenizer {
namespace {

// Vocabularies spell each byte as a visible character: those that are visible in Latin-1 stand for
// themselves, the rest for U+0100 and up, in order.
constexpr bool is_visible(unsigned byte) {
  return (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}
constexpr auto kAlphabet = [] {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) alphabet[byte] = is_visible(byte) ? byte : next++;
  return alphabet;
}();
constexpr auto kBytes = [] {
  std::array<int16_t, 0x144> bytes{};
  for (auto& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kAlphabet[byte]] = static_cast<int16_t>(byte);
  return bytes;
}();

std::string letter_of(unsigned byte) {
  std::string letter;
  append_utf8(kAlphabet[byte], &letter);
  return letter;
}

// The bytes that a token's spelling stands for. One that is not wholly in the alphabet stands for
// itself.
void spelling_to_bytes(std::string_view spelling, std::string* bytes) {
  bytes->clear();
  const char* end = spelling.data() + spelling.size();
  for (const char* p = spelling.data(); p < end;) {
    const Character c = decode(p, end);
    if (c.code >= kBytes.size() || kBytes[c.code] < 0) {
      bytes->assign(spelling);
      return;
    }
    bytes->push_back(static_cast<char>(kBytes[c.code]));
    p += c.n_bytes;
  }
}

class ByteLevelBpe final : public VocabTokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(VocabData vocab, const PreTokenizer& pre) {
    std::unique_ptr<ByteLevelBpe> bpe(new ByteLevelBpe(std::move(vocab), pre));
    T9_TRY(read_merges(*bpe, &bpe->merges_));
    return std::unique_ptr<Tokenizer>(std::move(bpe));
  }

  void encode(std::string_view text, const EncodeOptions& options,
              std::vector<TokenId>* out) const override {
    Session session(*this);
    encode_around_specials(text, options, out,
                           [&](std::string_view raw) { session.encode(raw, out); });
  }

 private:
  ByteLevelBpe(VocabData vocab, const PreTokenizer& pre)
      : VocabTokenizer(std::move(vocab)), pre_(pre) {
    std::string bytes;
    for (TokenId id = 0; id < size(); ++id) {
      const std::string& spelling = this->vocab().tokens[static_cast<size_t>(id)];
      spelling_to_bytes(spelling, &bytes);
      reach_.add(bytes);
      const bool normal = type(id) == TokenType::kNormal || type(id) == TokenType::kByte;
      add_piece(normal ? bytes : spelling);
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
      const TokenId id = find(letter_of(byte));
      byte_ids_[byte] = id >= 0 && type(id) == TokenType::kNormal ? id : -1;
      has_all_bytes_ = has_all_bytes_ && byte_ids_[byte] >= 0;
    }
    if ((pre_.flags & kIgnoreMerges) != 0) {
      whole_.reserve(pieces().size());
      for (TokenId id = 0; id < size(); ++id) {
        if (type(id) == TokenType::kNormal) whole_.insert(pieces(), id);
      }
    }
    add_specials([&](TokenId id) { return this->vocab().tokens[static_cast<size_t>(id)]; });
  }

  // One encode call's working memory.
  class Session {
   public:
    explicit Session(const ByteLevelBpe& bpe) : bpe_(bpe), merger_(bpe.merges_) {}

    void encode(std::string_view text, std::vector<TokenId>* out) {
      const bool normalized = (bpe_.pre_.flags & kNfc) != 0 && to_nfc(text, &normalized_);
      if (normalized) {
        cache_.clear();
        text = normalized_;
      }
      ends_.clear();
      bpe_.pre_.split(text, &ends_);
      size_t begin = 0;
      for (const size_t end : ends_) {
        encode_piece(text.substr(begin, end - begin), out);
        begin = end;
      }
      if (normalized) cache_.clear();
    }

   private:
    // Below it a cut saves nothing.
    static constexpr size_t kShortPiece = 16;

    void encode_parts(std::string_view piece, std::vector<TokenId>* out) {
      size_t begin = 0;
      for (size_t i = 1; i <= piece.size(); ++i) {
        if (i < piece.size() && bpe_.reach_.crosses(piece, i)) continue;
        encode_part(piece.substr(begin, i - begin), out);
        begin = i;
      }
    }

    void encode_piece(std::string_view piece, std::vector<TokenId>* out) {
      if (encode_whole(piece, out)) return;
      if (piece.size() <= kShortPiece || !bpe_.has_all_bytes_) {
        encode_part(piece, out);
      } else {
        encode_parts(piece, out);
      }
    }

    // By merges alone.
    void encode_part(std::string_view part, std::vector<TokenId>* out) {
      const bool cached = part.size() > 1 && part.size() <= WordCache::kMaxBytes;
      if (cached && cache_.append(part, out)) return;
      const size_t first = out->size();
      symbols_.clear();
      for (const char c : part) {
        // A byte that the vocabulary has no token for is left out, as in the original (SmolLM
        // lacks F1, for one).
        const TokenId id = bpe_.byte_ids_[static_cast<unsigned char>(c)];
        if (id >= 0) symbols_.push_back(id);
      }
      merger_.merge(&symbols_);
      out->insert(out->end(), symbols_.begin(), symbols_.end());
      if (cached) cache_.remember(part, first, *out);
    }

    bool encode_whole(std::string_view piece, std::vector<TokenId>* out) const {
      const TokenId id = bpe_.whole_.find(bpe_.pieces(), piece);
      if (id < 0) return false;
      out->push_back(id);
      return true;
    }

    const ByteLevelBpe& bpe_;
    Merger merger_;
    WordCache cache_;
    std::string normalized_;
    std::vector<size_t> ends_;
    std::vector<TokenId> symbols_;
  };

  const PreTokenizer& pre_;
  MergeTable merges_;
  StringIndex whole_;  // pieces of normal tokens; filled for kIgnoreMerges only
  std::array<TokenId, 256> byte_ids_ = {};
  MergeReach reach_;
  bool has_all_bytes_ = true;  // else leaving bytes out makes neighbours that were none
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_byte_level_bpe(VocabData vocab) {
  const std::string name = vocab.pre.empty() ? "default" : vocab.pre;
  const PreTokenizer* pre = find_pre_tokenizer(name);
  if (pre == nullptr) {
    return make_error(ErrorCode::kUnsupported,
                      "tokenizer.ggml.pre '{}' is not supported; known are: {}", name,
                      fmt::join(pre_tokenizer_names(), ", "));
  }
  return ByteLevelBpe::make(std::move(vocab), *pre);
}

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  VocabData vocab;
  vocab.model = "gpt2";
  vocab.pre = "gpt-2";
  for (unsigned byte = 0; byte < 256; ++byte) vocab.tokens.push_back(letter_of(byte));
  vocab.types.assign(256, static_cast<int32_t>(TokenType::kNormal));
  for (const char* control :
       {"<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"}) {
    vocab.tokens.emplace_back(control);
    vocab.types.push_back(static_cast<int32_t>(TokenType::kControl));
  }
  vocab.eos = 257;
  Result<std::unique_ptr<Tokenizer>> made = make_byte_level_bpe(std::move(vocab));
  T9_CHECK(made.has_value());
  return std::move(*made);
}

}  // namespace tempo9::tokenizer
