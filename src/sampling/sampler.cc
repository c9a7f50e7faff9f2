#include "sampling/sampler.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace tempo9::sampling {
namespace {

constexpr Stage kStages[] = {
#define T9_STAGE(name) name,
#include "sampling/stages.inc"
#undef T9_STAGE
};

bool is_plain_greedy(const Params& params) {
  return params.temperature == 0.0f && params.logit_bias.empty() &&
         params.repetition_penalty == 1.0f && params.frequency_penalty == 0.0f &&
         params.presence_penalty == 0.0f;
}

// The lowest id among the largest; NaN never wins. -1 when there is no number above -infinity.
TokenId argmax(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  TokenId id = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best) {
      best = logits[i];
      id = static_cast<TokenId>(i);
    }
  }
  return id;
}

}  // namespace

double max_score(const std::vector<Candidate>& candidates) {
  double best = -std::numeric_limits<double>::infinity();
  for (const Candidate& c : candidates) {
    best = std::max(best, c.score);
  }
  return best;
}

Sampler::Sampler(uint32_t n_vocab, uint32_t n_tokens)
    : n_tokens_(std::min(n_vocab, n_tokens)), counts_(n_vocab, 0) {
  candidates_.reserve(n_tokens_);
}

void Sampler::collect(const SampleInput& input) {
  candidates_.clear();
  for (uint32_t id = 0; id < n_tokens_; ++id) {
    const float logit = input.logits[id];
    const bool allowed = input.mask.empty() || ((input.mask[id / 32] >> (id % 32)) & 1u) != 0;
    // NaN and infinities are no evidence for anything.
    if (allowed && std::abs(logit) <= std::numeric_limits<float>::max()) {
      candidates_.push_back({static_cast<TokenId>(id), static_cast<double>(logit)});
    }
  }
}

TokenId Sampler::sample(const Params& params, const SampleInput& input) {
  T9_CHECK(input.logits.size() == counts_.size());
  T9_CHECK(input.mask.empty() || input.mask.size() * 32 >= n_tokens_);
  if (input.mask.empty() && is_plain_greedy(params)) {
    const TokenId id = argmax(input.logits.first(n_tokens_));
    if (id >= 0 && input.logits[static_cast<size_t>(id)] <= std::numeric_limits<float>::max()) {
      return id;
    }
  }
  collect(input);
  if (candidates_.empty()) {
    return -1;
  }
  const StageInput stage_input{params, input.prompt, input.output, counts_};
  for (const Stage stage : kStages) {
    stage(stage_input, &candidates_);
  }
  if (params.temperature > 0.0f) {
    return draw(input.key, candidates_);
  }
  return std::min_element(candidates_.begin(), candidates_.end(), ranks_before)->id;
}

}  // namespace tempo9::sampling
