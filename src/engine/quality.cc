#include "engine/quality.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tempo9::engine {
namespace {

constexpr uint32_t kReadRows = 512;  // rows of a step that asks for no logits
constexpr uint32_t kLogitRows = 64;  // and of one that does: 64 MB of a vocabulary of 256 K

// The logarithm of the sum of exponentials, so that logit - it is a log-probability.
double log_sum_exp(std::span<const float> logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - top);
  return top + std::log(sum);
}

double kl_divergence(std::span<const float> p, double p_sum, std::span<const float> q,
                     double q_sum) {
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double log_p = static_cast<double>(p[i]) - p_sum;
    total += std::exp(log_p) * (log_p - (static_cast<double>(q[i]) - q_sum));
  }
  return total;
}

tokenizer::TokenId best_of(std::span<const float> logits) {
  return static_cast<tokenizer::TokenId>(std::ranges::max_element(logits) - logits.begin());
}

uint32_t pages_for(const QualityPlan& plan) {
  return (plan.context + ops::kPageTokens - 1) / ops::kPageTokens;
}

Status check_same_vocabulary(const std::vector<std::string>& x, const std::vector<std::string>& y,
                             const std::string& b_path) {
  const auto [in_x, in_y] = std::ranges::mismatch(x, y);
  if (in_x == x.end() && in_y == y.end()) return {};
  return make_error(
      ErrorCode::kInvalidArgument,
      "{}: its vocabulary of {} tokens differs from the first model's of {} from id {} "
      "on; only models of one vocabulary can be compared",
      b_path, y.size(), x.size(), in_x - x.begin());
}

}  // namespace

void QualitySums::add(double logprob) {
  ++n_tokens;
  nll -= logprob;
  nll_squared += logprob * logprob;
}

double QualitySums::perplexity() const { return std::exp(nll / static_cast<double>(n_tokens)); }

double QualitySums::standard_error() const {
  if (n_tokens < 2) return 0;
  const auto n = static_cast<double>(n_tokens);
  const double mean = nll / n;
  const double variance = std::max(nll_squared / n - mean * mean, 0.0);
  return perplexity() * std::sqrt(variance / (n - 1));
}

Quality::Quality(QualityPlan plan, BenchModel model,
                 std::unique_ptr<tokenizer::Tokenizer> tokenizer)
    : plan_(plan), tokenizer_(std::move(tokenizer)) {
  models_.push_back(std::move(model));
  pages_.resize(pages_for(plan));
  std::iota(pages_.begin(), pages_.end(), ops::PageId{0});
}

Result<Quality> Quality::create(const std::string& path, const std::string& other_path,
                                const QualityPlan& plan, ops::BackendOptions options) {
  options.max_rows = kReadRows;
  options.max_logit_rows = kLogitRows;
  options.max_pages = pages_for(plan);
  options.max_states = 1;
  T9_TRY(BenchModel model, build_bench_model(path, options));
  T9_TRY(tokenizer::VocabData vocab, tokenizer::read_vocab(model.file));
  T9_TRY(auto tokenizer, tokenizer::make_tokenizer(std::move(vocab)));
  Quality quality(plan, std::move(model), std::move(tokenizer));
  if (!other_path.empty()) {
    T9_TRY(BenchModel other, build_bench_model(other_path, options));
    T9_TRY(const tokenizer::VocabData other_vocab, tokenizer::read_vocab(other.file));
    T9_TRY(
        check_same_vocabulary(quality.tokenizer_->vocab().tokens, other_vocab.tokens, other_path));
    quality.models_.push_back(std::move(other));
  }
  return quality;
}

Result<uint32_t> Quality::read_text(std::string_view text) {
  tokens_.clear();
  tokenizer_->encode(text, {.add_special = true, .parse_control = false}, &tokens_);
  auto n_chunks = static_cast<uint32_t>(tokens_.size() / plan_.context);
  if (plan_.max_chunks > 0) n_chunks = std::min(n_chunks, plan_.max_chunks);
  if (n_chunks == 0) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "the text has {} tokens, expected at least one chunk of {}; give a longer text "
        "or a smaller --context",
        tokens_.size(), plan_.context);
  }
  tokens_.resize(size_t{n_chunks} * plan_.context);
  const uint32_t n_ids = models_.front().n_ids;
  const auto too_high = std::ranges::find_if(
      tokens_, [&](tokenizer::TokenId id) { return static_cast<uint32_t>(id) >= n_ids; });
  if (too_high != tokens_.end()) {
    return make_error(ErrorCode::kCorrupt,
                      "the text has token {}, but the model knows ids below {}", *too_high, n_ids);
  }
  return n_chunks;
}

Status Quality::run(
    const std::function<void(const QualityResult&, std::span<const TokenScore>)>& sink) {
  result_ = {};
  for (size_t begin = 0; begin < tokens_.size(); begin += plan_.context) {
    const auto chunk = std::span(tokens_).subspan(begin, plan_.context);
    chunk_.assign(chunk.begin(), chunk.end());
    if (tokenizer_->vocab().add_bos && tokenizer_->bos() >= 0) chunk_.front() = tokenizer_->bos();
    scores_.clear();
    const uint32_t first_scored = plan_.context / 2;
    for (uint32_t at = 0; at < first_scored; at += kReadRows) {
      const uint32_t n = std::min(kReadRows, first_scored - at);
      for (BenchModel& model : models_) T9_TRY(logits(model, at, n, false));
    }
    // The last token's own logits would predict what is not in the chunk.
    for (uint32_t at = first_scored; at + 1 < plan_.context; at += kLogitRows) {
      const uint32_t n = std::min(kLogitRows, plan_.context - 1 - at);
      T9_TRY(const std::span<const float> own, logits(models_.front(), at, n, true));
      std::span<const float> other;
      if (models_.size() > 1) {
        T9_TRY(other, logits(models_.back(), at, n, true));
      }
      T9_TRY(score(at, own, other));
    }
    ++result_.n_chunks;
    sink(result_, scores_);
  }
  return {};
}

Result<std::span<const float>> Quality::logits(BenchModel& model, uint32_t begin, uint32_t n_rows,
                                               bool wanted) {
  const ops::StateOut state{n_rows - 1, 0};
  ops::BatchSequence sequence{.first_row = 0, .n_rows = n_rows, .n_past = begin, .pages = pages_};
  if (model.backend->state_bytes() > 0) {
    sequence.state_in = begin > 0 ? state.slot : ops::kNoSlot;
    sequence.states_out = {&state, 1};
  }
  std::vector<uint32_t> rows(wanted ? n_rows : 0);
  std::iota(rows.begin(), rows.end(), 0u);
  return model.backend->step({.tokens = std::span(chunk_).subspan(begin, n_rows),
                              .sequences = {&sequence, 1},
                              .logit_rows = rows});
}

// logits: of the tokens behind positions first, first + 1, ...
Status Quality::score(uint32_t first, std::span<const float> logits, std::span<const float> other) {
  const size_t n_vocab = models_.front().program.n_vocab;
  for (size_t row = 0; (row + 1) * n_vocab <= logits.size(); ++row) {
    const tokenizer::TokenId next = chunk_[first + row + 1];
    const auto own = logits.subspan(row * n_vocab, n_vocab);
    const double sum = log_sum_exp(own);
    const double logprob = static_cast<double>(own[static_cast<size_t>(next)]) - sum;
    if (!std::isfinite(logprob)) {
      return make_error(ErrorCode::kInternal,
                        "the model's logits hold no number; is the file damaged?");
    }
    result_.sums.add(logprob);
    scores_.push_back({next, logprob, best_of(own)});
    if (other.empty()) continue;
    const auto its = other.subspan(row * n_vocab, n_vocab);
    const double its_sum = log_sum_exp(its);
    result_.other.add(static_cast<double>(its[static_cast<size_t>(next)]) - its_sum);
    result_.kl_divergence += kl_divergence(its, its_sum, own, sum);
    result_.n_same_best += best_of(its) == scores_.back().best ? 1 : 0;
  }
  return {};
}

}  // namespace tempo9::engine
