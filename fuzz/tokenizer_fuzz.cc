// Links: t9_tokenizer
// Any text through each family of tokenizer: every token is one of the vocabulary, the text comes
// back, and no text becomes a control token unless it is asked for.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tokenizer/testing/sentencepiece_vocab.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace tempo9::tokenizer;  // NOLINT(google-build-using-namespace): one file, one purpose

// How byte-level vocabularies spell a byte.
std::string spelling(int byte) {
  int c = byte;
  if (byte < 33 || (byte > 126 && byte < 161) || byte == 173) {
    c = byte < 33 ? 256 + byte : byte < 161 ? 289 + byte - 127 : 323;
  }
  if (c < 128) return {static_cast<char>(c)};
  return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
}

VocabData byte_level(const char* pre) {
  VocabData vocab;
  vocab.model = "gpt2";
  vocab.pre = pre;
  for (int byte = 0; byte < 256; ++byte) vocab.tokens.push_back(spelling(byte));
  for (const char* merge : {"a b", "ab c", "\u0120 a", "t h", "th e", "1 2", "\u00C3 \u00A4"}) {
    const std::string_view both = merge;
    vocab.merges.emplace_back(both);
    vocab.tokens.push_back(std::string(both.substr(0, both.find(' '))) +
                           std::string(both.substr(both.find(' ') + 1)));
  }
  vocab.types.assign(vocab.tokens.size(), 1);
  vocab.tokens.insert(vocab.tokens.end(), {"<|im_end|>", "<u>"});
  vocab.types.insert(vocab.types.end(), {3, 4});
  vocab.eos = static_cast<TokenId>(vocab.tokens.size() - 2);
  return vocab;
}

struct Family {
  std::unique_ptr<Tokenizer> tokenizer;
  bool is_exact = true;  // the text comes back, whatever it is
};

std::vector<Family> families() {
  std::vector<Family> all;
  const auto add = [&](VocabData vocab, bool is_exact) {
    auto made = make_tokenizer(std::move(vocab));
    T9_CHECK(made.has_value());
    all.push_back({*std::move(made), is_exact});
  };
  add(byte_level("gpt-2"), true);
  add(byte_level("llama-bpe"), true);
  add(byte_level("qwen2"), false);  // NFC first
  // U+2581 in a text is a space afterwards, as in the original.
  add(sentencepiece_vocab({"\u2581", "a", "b", "ab", "\u2581a", "the", "\u00E4", "</"}), false);
  all.push_back({make_byte_tokenizer(), true});
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Family> all = families();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Family& family : all) {
    const Tokenizer& tokenizer = *family.tokenizer;
    for (const bool parse_control : {false, true}) {
      std::vector<TokenId> ids;
      tokenizer.encode(text, {.add_special = false, .parse_control = parse_control}, &ids);
      for (const TokenId id : ids) {
        T9_CHECK(id >= 0 && id < tokenizer.size());
        T9_CHECK(parse_control || tokenizer.type(id) != TokenType::kControl);
      }
      T9_CHECK(!family.is_exact || tokenizer.decode(ids, /*spell_control=*/true) == text);
    }
  }
  return 0;
}
