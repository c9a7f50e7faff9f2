#include <fmt/ranges.h>

#include "tokenizer/families.h"

namespace tempo9::tokenizer {
namespace {

struct Family {
  std::string_view model;
  Result<std::unique_ptr<Tokenizer>> (*make)(VocabData vocab);
};

constexpr Family kFamilies[] = {
#define T9_TOKENIZER(model, factory) {model, factory},
#include "tokenizer/list.inc"  // NOLINT
#undef T9_TOKENIZER
};

Status check_length(std::string_view what, size_t n, size_t n_tokens) {
  if (n == 0 || n == n_tokens) return {};
  return make_error(ErrorCode::kCorrupt,
                    "{} has {} entries, but tokenizer.ggml.tokens has {}; they must agree", what, n,
                    n_tokens);
}

Status check_id(std::string_view what, TokenId id, size_t n_tokens) {
  if (id >= -1 && id < static_cast<int64_t>(n_tokens)) return {};
  return make_error(ErrorCode::kCorrupt,
                    "tokenizer.ggml.{}_token_id is {}, expected below the {} tokens of the file",
                    what, id, n_tokens);
}

}  // namespace

Status check_vocab(const VocabData& vocab) {
  const size_t n = vocab.tokens.size();
  if (n == 0) return make_error(ErrorCode::kCorrupt, "tokenizer.ggml.tokens is missing or empty");
  if (n > INT32_MAX)
    return make_error(ErrorCode::kCorrupt, "tokenizer.ggml.tokens has {} entries, at most 2^31-1",
                      n);
  T9_TRY(check_length("tokenizer.ggml.scores", vocab.scores.size(), n));
  T9_TRY(check_length("tokenizer.ggml.token_type", vocab.types.size(), n));
  T9_TRY(check_id("bos", vocab.bos, n));
  T9_TRY(check_id("eos", vocab.eos, n));
  T9_TRY(check_id("eot", vocab.eot, n));
  T9_TRY(check_id("eom", vocab.eom, n));
  T9_TRY(check_id("unknown", vocab.unk, n));
  T9_TRY(check_id("padding", vocab.pad, n));
  return {};
}

Result<std::unique_ptr<Tokenizer>> make_tokenizer(VocabData vocab) {
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (family.model == vocab.model) {
      T9_TRY(check_vocab(vocab));
      return family.make(std::move(vocab));
    }
    known.push_back(family.model);
  }
  return make_error(ErrorCode::kUnsupported,
                    "tokenizer.ggml.model '{}' is not supported; known are: {}", vocab.model,
                    fmt::join(known, ", "));
}

}  // namespace tempo9::tokenizer
