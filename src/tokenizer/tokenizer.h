// Text to token ids and back. One file per family; which one comes from the vocabulary's own
// metadata.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::gguf {
class File;
}

namespace tempo9::tokenizer {

using TokenId = int32_t;

// tokenizer.ggml.token_type
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // matched in text only where control tokens are asked for
  kUserDefined = 4,  // matched in any text, before everything else, longest first
  kUnused = 5,
  kByte = 6,
};

// What a file says about its vocabulary: the tokenizer.* keys, unchecked. A plain struct so that
// tests can build one.
struct VocabData {
  std::string model;  // tokenizer.ggml.model: "gpt2", "llama", "gemma4"...
  std::string pre;    // tokenizer.ggml.pre: "qwen2", "smollm", "llama-bpe"...; empty when absent
  std::vector<std::string> tokens;
  std::vector<float> scores;   // SentencePiece; may be empty
  std::vector<int32_t> types;  // TokenType; empty: all normal
  std::vector<std::string> merges;
  TokenId bos = -1, eos = -1, eot = -1, eom = -1, unk = -1, pad = -1;  // -1: none
  bool add_bos = false, add_eos = false;  // with the family's own default when the key is absent
  bool add_space_prefix = true;           // SentencePiece
};
// Errors: kCorrupt for keys that are missing, of the wrong kind, or name tokens that are not there.
Result<VocabData> read_vocab(const gguf::File& file);

struct EncodeOptions {
  bool add_special = false;    // BOS / EOS as the file says
  bool parse_control = false;  // control tokens (type 3) spelled in the text become those tokens
};

// Immutable; safe from any thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends to out. Never fails: any bytes may come, also invalid UTF-8 and NUL. They decode to
  // what was encoded, except where the original tokenizer changes a text (Qwen: NFC) or its
  // vocabulary lacks a byte (SmolLM).
  virtual void encode(std::string_view text, const EncodeOptions& options,
                      std::vector<TokenId>* out) const = 0;

  // The bytes a token stands for in running text (may be a part of a UTF-8 character). Control
  // tokens give their spelling when spell_control, else nothing. id must be in [0, size()).
  virtual std::string_view token_bytes(TokenId id, bool spell_control) const = 0;

  // Whole sequence to text: token_bytes joined, plus the family's rule at the start of a text
  // (SentencePiece drops the space that its encoder put in front).
  virtual std::string decode(std::span<const TokenId> ids, bool spell_control) const = 0;

  virtual TokenType type(TokenId id) const = 0;
  virtual TokenId find(std::string_view spelling)
      const = 0;  // exact vocabulary entry as stored in the file; -1 if none
  virtual int32_t size() const = 0;
  virtual TokenId bos() const = 0;
  virtual TokenId eos() const = 0;
  // Ids that end a reply: eos, eot and what the file marks so (end-of-generation).
  virtual bool ends_generation(TokenId id) const = 0;
  virtual const VocabData& vocab() const = 0;
};

// Errors: kUnsupported for a model that is not in tokenizer/list.inc or a pre-tokenizer that is not
// in tokenizer/pre_list.inc (named, with the known ones), kCorrupt for lists that do not fit
// together.
Result<std::unique_ptr<Tokenizer>> make_tokenizer(VocabData vocab);

// For script mode: token b is byte b, and from 256 on the control tokens <|im_start|> <|im_end|>
// <think> </think> <tool_call> </tool_call>. <|im_end|> ends a reply.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace tempo9::tokenizer
