#include "engine/model_executor.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "sampling/logprobs.h"

namespace tempo9::engine {

static_assert(ops::kLogitRun == sampling::Sampler::kRun);
static_assert(ops::kPageTokens == kv::kPageTokens && ops::kNoSlot == kv::kNoSlot);

// Tokens of one position that the rules may turn down before the reply is cut.
constexpr int kMaxRefused = 512;

ModelExecutor::ModelExecutor(std::unique_ptr<ops::Backend> backend, uint32_t n_vocab,
                             uint32_t n_tokens)
    : backend_(std::move(backend)),
      n_vocab_(n_vocab),
      n_tokens_(std::min(n_vocab, n_tokens)),
      sampler_(n_vocab, n_tokens_) {}

std::string ModelExecutor::start(RequestId id, const GenerateRequest& request, uint64_t seed) {
  Sequence sequence{.request = &request, .seed = seed};
  sequence.pool = Pool(request.pooling);
  if (request.rules != nullptr) {
    if (auto constraint = request.rules->start()) {
      sequence.masking.emplace(std::move(*constraint),
                               std::max(size_t{n_tokens_}, request.rules->n_tokens()));
    } else {
      sequence.error = std::move(constraint).error();
    }
  }
  sequences_[id] = std::move(sequence);
  return {};
}

void ModelExecutor::end(RequestId id) { sequences_.erase(id); }

void ModelExecutor::build_batch(std::span<const sched::Slice> slices) {
  rows_.clear();
  batch_sequences_.clear();
  logit_rows_.clear();
  state_rows_.clear();
  states_out_.clear();
  for (const sched::Slice& slice : slices) {
    for (const kv::StateOut& out : slice.states.out) states_out_.push_back({out.row, out.slot});
  }
  std::span<const ops::StateOut> states = states_out_;
  for (const sched::Slice& slice : slices) {
    const auto first_row = static_cast<uint32_t>(rows_.size());
    const auto n_rows = static_cast<uint32_t>(slice.tokens.size());
    rows_.insert(rows_.end(), slice.tokens.begin(), slice.tokens.end());
    batch_sequences_.push_back({first_row, n_rows, slice.n_past, slice.pages, slice.states.in,
                                states.first(slice.states.out.size())});
    states = states.subspan(slice.states.out.size());
    const bool pools = sequences_.at(slice.id).request->pooling != Pooling::kNone;
    for (uint32_t row = slice.first_logit_row; row < n_rows; ++row) {
      (pools ? state_rows_ : logit_rows_).push_back(first_row + row);
    }
  }
}

// What may follow is known before the step, so it is worked out while the model computes.
void ModelExecutor::begin_masks(std::span<const sched::Slice> slices) {
  for (const sched::Slice& slice : slices) {
    Sequence& sequence = sequences_.at(slice.id);
    if (slice.samples && sequence.masking) mask_worker_.add(&*sequence.masking);
  }
}

Result<std::vector<SliceOutcome>> ModelExecutor::step(std::span<const sched::Slice> slices) {
  build_batch(slices);
  // Also when something throws: the jobs belong to requests that may end then.
  struct Waiter {
    MaskWorker* worker;
    ~Waiter() { worker->wait(); }
  } waiter{&mask_worker_};
  begin_masks(slices);
  auto computed = backend_->step({.tokens = rows_,
                                  .sequences = batch_sequences_,
                                  .logit_rows = logit_rows_,
                                  .state_rows = state_rows_});
  mask_worker_.wait();
  T9_TRY(std::span<const float> logits, std::move(computed));
  T9_CHECK(logits.size() == logit_rows_.size() * size_t{n_vocab_});
  std::span<const float> run_maxima = backend_->run_maxima();
  const uint32_t n_runs = run_maxima.empty() ? 0 : ops::logit_runs(n_vocab_);
  std::span<const float> states = backend_->states();
  const size_t state_width = state_rows_.empty() ? 0 : states.size() / state_rows_.size();
  std::vector<SliceOutcome> outcomes;
  for (const sched::Slice& slice : slices) {
    if (sequences_.at(slice.id).request->pooling != Pooling::kNone) {
      const size_t n = (slice.tokens.size() - slice.first_logit_row) * state_width;
      outcomes.push_back(pooled_outcome(slice, states.first(n)));
      states = states.subspan(n);
      continue;
    }
    const size_t n_rows = slice.tokens.size() - slice.first_logit_row;
    T9_TRY(SliceOutcome outcome,
           outcome_of(slice, logits.first(n_rows * n_vocab_), run_maxima.first(n_rows * n_runs)));
    outcomes.push_back(std::move(outcome));
    logits = logits.subspan(n_rows * n_vocab_);
    run_maxima = run_maxima.subspan(n_rows * n_runs);
  }
  return outcomes;
}

SliceOutcome ModelExecutor::pooled_outcome(const sched::Slice& slice,
                                           std::span<const float> states) {
  Sequence& sequence = sequences_.at(slice.id);
  SliceOutcome outcome;
  outcome.n_rows = static_cast<uint32_t>(slice.tokens.size());
  sequence.pool.add(slice.n_past + slice.first_logit_row, outcome.n_rows - slice.first_logit_row,
                    states);
  if (!slice.samples) return outcome;
  if (auto embedding = sequence.pool.result()) {
    outcome.embedding = *std::move(embedding);
  } else {
    outcome.next.finish = {.reason = FinishReason::kError, .error = std::move(embedding).error()};
  }
  return outcome;
}

Result<SliceOutcome> ModelExecutor::outcome_of(const sched::Slice& slice,
                                               std::span<const float> logits,
                                               std::span<const float> run_maxima) {
  const auto it = sequences_.find(slice.id);
  T9_CHECK(it != sequences_.end());
  Sequence& sequence = it->second;
  const GenerateRequest& request = *sequence.request;
  SliceOutcome outcome;
  outcome.n_rows = static_cast<uint32_t>(slice.tokens.size());
  for (uint32_t row = slice.first_logit_row; row < slice.tokens.size(); ++row) {
    const size_t position = size_t{slice.n_past} + row + 1;
    if (position < request.prompt.size()) {
      const size_t offset = size_t{row - slice.first_logit_row} * n_vocab_;
      outcome.prompt.push_back(
          info_of(request.prompt[position], request, logits.subspan(offset, n_vocab_)));
    }
  }
  if (!slice.samples) {
    return outcome;
  }
  const std::span<const float> last = logits.last(n_vocab_);
  if (!run_maxima.empty()) run_maxima = run_maxima.last(ops::logit_runs(n_vocab_));
  auto sampled = sample(&sequence, last, run_maxima);
  if (!sampled) {
    outcome.next.finish = {.reason = FinishReason::kError, .error = std::move(sampled).error()};
    return outcome;
  }
  const TokenId id = *sampled;
  if (id < 0) {
    const bool any =
        std::ranges::any_of(last.first(n_tokens_), [](float x) { return std::isfinite(x); });
    if (any && sequence.masking) {
      // Every continuation is forbidden: what is there stays true to the rules, and is cut.
      const bool whole = sequence.masking->constraint->can_end();
      outcome.next.finish = {.reason = whole ? FinishReason::kStop : FinishReason::kLength};
      return outcome;
    }
    // This request's own misfortune (a broken weight, a bias against everything); the others go on.
    outcome.next.finish = {
        .reason = FinishReason::kError,
        .error = make_error(
            ErrorCode::kInternal, "no token can be chosen behind token {}: {}",
            slice.n_past + slice.tokens.size(),
            any ? "the request allows none of them"
                : "the model computed no finite numbers; its file is damaged, or they overflow")};
    return outcome;
  }
  sequence.output.push_back(id);
  outcome.next.tokens.push_back(info_of(id, request, last));
  if (sequence.masking && sequence.masking->constraint->ended()) {
    outcome.next.bytes = "";  // an end token is never text, also with ignore_eos
    outcome.next.finish = {.reason = FinishReason::kStop};
  }
  return outcome;
}

Result<TokenId> ModelExecutor::sample(Sequence* sequence, std::span<const float> logits,
                                      std::span<const float> run_maxima) {
  const GenerateRequest& request = *sequence->request;
  if (sequence->error) return *sequence->error;
  sampling::SampleInput input{
      .logits = logits,
      .prompt = request.prompt,
      .output = sequence->output,
      .run_maxima = run_maxima,
      .key = {sequence->seed, request.choice, static_cast<uint32_t>(sequence->output.size())}};
  if (!sequence->masking) return sampler_.sample(request.sampling, input);
  MaskJob& masking = *sequence->masking;
  if (masking.thrown) std::rethrow_exception(std::exchange(masking.thrown, nullptr));
  T9_TRY(const bool masked, masking.filled);
  if (masked) input.mask = masking.mask;
  // The noise belongs to the token, so a draw among fewer candidates is the same draw.
  for (int n_refused = 0; n_refused < kMaxRefused; ++n_refused) {
    const TokenId id = sampler_.sample(request.sampling, input);
    if (id < 0) return id;
    T9_TRY(const bool accepted, masking.constraint->accept(id));
    if (accepted) return id;
    if (input.mask.empty()) std::ranges::fill(masking.mask, ~0U);
    masking.mask[static_cast<size_t>(id) / 32] &= ~(1U << (static_cast<uint32_t>(id) % 32));
    input.mask = masking.mask;
  }
  return -1;
}

TokenInfo ModelExecutor::info_of(TokenId id, const GenerateRequest& request,
                                 std::span<const float> logits) const {
  TokenInfo info{.id = id, .logprob = std::nullopt, .top = {}};
  if (request.n_logprobs) {
    const sampling::Logprobs logprobs =
        sampling::logprobs(logits, id, *request.n_logprobs, n_tokens_);
    info.logprob = logprobs.chosen;
    for (const auto& [top_id, logprob] : logprobs.top) {
      info.top.push_back({top_id, logprob});
    }
  }
  return info;
}

}  // namespace tempo9::engine
