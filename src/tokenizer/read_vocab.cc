// The tokenizer.* keys of a GGUF file. Source: ggml's docs/gguf.md; defaults for absent keys as
// llama.cpp has them.
#include <algorithm>

#include "gguf/gguf.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {
namespace {

Result<TokenId> read_id(const gguf::File& file, std::string_view key, size_t n_tokens,
                        TokenId fallback) {
  if (file.find(key) == nullptr)
    return fallback >= 0 && static_cast<size_t>(fallback) < n_tokens ? fallback : -1;
  T9_TRY(const uint64_t id, file.get_uint(key));
  if (id >= n_tokens) {
    return make_error(ErrorCode::kCorrupt, "{} is {}, expected below the {} tokens of the file",
                      key, id, n_tokens);
  }
  return static_cast<TokenId>(id);
}

// BERT's [CLS] stands where others have BOS and its [SEP] where they have EOS; always both.
Status read_bert_ids(const gguf::File& file, VocabData* vocab) {
  const auto find = [&](std::string_view token) {
    const auto it = std::ranges::find(vocab->tokens, token);
    return it == vocab->tokens.end() ? -1 : static_cast<TokenId>(it - vocab->tokens.begin());
  };
  const size_t n = vocab->tokens.size();
  T9_TRY(const TokenId cls, read_id(file, "tokenizer.ggml.cls_token_id", n, find("[CLS]")));
  // The format's own spelling.
  T9_TRY(const TokenId sep, read_id(file, "tokenizer.ggml.seperator_token_id", n, find("[SEP]")));
  if (cls >= 0) vocab->bos = cls;
  if (sep >= 0) vocab->eos = sep;
  T9_TRY(vocab->add_bos, file.get_bool("tokenizer.ggml.add_bos_token", true));
  T9_TRY(vocab->add_eos, file.get_bool("tokenizer.ggml.add_eos_token", true));
  return {};
}

}  // namespace

Result<VocabData> read_vocab(const gguf::File& file) {
  VocabData vocab;
  T9_TRY(vocab.model, file.get_string("tokenizer.ggml.model"));
  T9_TRY(vocab.pre, file.get_string("tokenizer.ggml.pre", ""));
  T9_TRY(vocab.tokens, file.get_strings("tokenizer.ggml.tokens"));
  T9_TRY(vocab.merges, file.get_strings("tokenizer.ggml.merges"));
  T9_TRY(const std::vector<double> scores, file.get_floats("tokenizer.ggml.scores"));
  vocab.scores.reserve(scores.size());
  for (const double score : scores) vocab.scores.push_back(static_cast<float>(score));
  T9_TRY(const std::vector<int64_t> types, file.get_ints("tokenizer.ggml.token_type"));
  vocab.types.reserve(types.size());
  for (const int64_t type : types)
    vocab.types.push_back(type >= 0 && type < 100 ? static_cast<int32_t>(type) : 0);

  const size_t n = vocab.tokens.size();
  const bool sentencepiece = vocab.model == "llama";
  T9_TRY(vocab.bos, read_id(file, "tokenizer.ggml.bos_token_id", n, sentencepiece ? 1 : -1));
  T9_TRY(vocab.eos, read_id(file, "tokenizer.ggml.eos_token_id", n, sentencepiece ? 2 : -1));
  T9_TRY(vocab.eot, read_id(file, "tokenizer.ggml.eot_token_id", n, -1));
  T9_TRY(vocab.eom, read_id(file, "tokenizer.ggml.eom_token_id", n, -1));
  T9_TRY(vocab.unk, read_id(file, "tokenizer.ggml.unknown_token_id", n, sentencepiece ? 0 : -1));
  T9_TRY(vocab.pad, read_id(file, "tokenizer.ggml.padding_token_id", n, -1));

  bool add_bos = sentencepiece;
  if (vocab.model == "gpt2") {
    const PreTokenizer* pre = find_pre_tokenizer(vocab.pre);
    add_bos = pre != nullptr && (pre->flags & kAddBos) != 0;
  }
  T9_TRY(vocab.add_bos, file.get_bool("tokenizer.ggml.add_bos_token", add_bos));
  // Gemma 4 is always given its BOS; early files say otherwise.
  if (vocab.model == "gemma4") vocab.add_bos = true;
  T9_TRY(vocab.add_eos, file.get_bool("tokenizer.ggml.add_eos_token", false));
  T9_TRY(vocab.add_space_prefix, file.get_bool("tokenizer.ggml.add_space_prefix", sentencepiece));
  if (vocab.model == "bert") T9_TRY(read_bert_ids(file, &vocab));
  return vocab;
}

}  // namespace tempo9::tokenizer
