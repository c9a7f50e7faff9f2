// How well a model predicts a text, alone or beside another of the same vocabulary: what `tempo9
// quality` prints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/build.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

// A text is cut into chunks of `context` tokens, each read by itself; where the vocabulary asks for
// it, a BOS takes the place of a chunk's first token. Scored are the tokens behind a chunk's
// middle, so that each has at least half of the context before it: what llama.cpp's perplexity
// program does.
struct QualityPlan {
  uint32_t context = 512;
  uint32_t max_chunks = 0;  // 0: as many as the text has
};

struct TokenScore {
  tokenizer::TokenId token = 0;
  double logprob = 0;           // natural logarithm
  tokenizer::TokenId best = 0;  // the model's first choice there
};

// Sums over scored tokens.
struct QualitySums {
  uint64_t n_tokens = 0;
  double nll = 0, nll_squared = 0;  // negative log-probabilities

  void add(double logprob);
  double perplexity() const;
  double standard_error() const;  // of the perplexity
};

struct QualityResult {
  uint32_t n_chunks = 0;
  QualitySums sums;
  // With a second model, whose distribution is the one to be near to:
  QualitySums other;
  double kl_divergence = 0;  // sum over tokens of KL(other || model), nats
  uint64_t n_same_best = 0;
};

// Threads: one caller at a time.
class Quality {
 public:
  // Each model with its own weights and tokenizer; other_path empty: none. Errors: as
  // build_bench_model; kInvalidArgument when the two vocabularies differ, with the first id that
  // does.
  static Result<Quality> create(const std::string& path, const std::string& other_path,
                                const QualityPlan& plan, ops::BackendOptions options);

  // Chunks that this text has, at most plan.max_chunks. Errors: kInvalidArgument when it has none,
  // with its tokens.
  Result<uint32_t> read_text(std::string_view text);
  // Calls sink behind each chunk with the result so far and the chunk's tokens.
  // Errors: the backend's; kInternal when logits hold no number.
  Status run(const std::function<void(const QualityResult&, std::span<const TokenScore>)>& sink);

 private:
  Quality(QualityPlan plan, BenchModel model, std::unique_ptr<tokenizer::Tokenizer> tokenizer);
  Result<std::span<const float>> logits(BenchModel& model, uint32_t begin, uint32_t n_rows,
                                        bool wanted);
  Status score(uint32_t first, std::span<const float> logits, std::span<const float> other);

  QualityPlan plan_;
  std::vector<BenchModel> models_;  // one or two
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::vector<ops::PageId> pages_;
  std::vector<tokenizer::TokenId> tokens_;  // of the whole text
  std::vector<tokenizer::TokenId> chunk_;
  std::vector<TokenScore> scores_;  // of the chunk
  QualityResult result_;
};

}  // namespace tempo9::engine
