#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/check.h"

namespace tempo9::sampling {
namespace {

constexpr Stage kStages[] = {
#define T9_STAGE(name) name,
#include "sampling/stages.inc"
#undef T9_STAGE
};

// Whether scores are the logits themselves, up to the temperature.
bool leaves_logits_alone(const Params& params) {
  return params.logit_bias.empty() && params.repetition_penalty == 1.0f &&
         params.frequency_penalty == 0.0f && params.presence_penalty == 0.0f;
}

}  // namespace

double max_score(const std::vector<Candidate>& candidates) {
  double best = -std::numeric_limits<double>::infinity();
  for (const Candidate& c : candidates) {
    best = std::max(best, c.score);
  }
  return best;
}

float max_logit(std::span<const float> logits) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr size_t kLanes = 16;  // independent maxima: a loop that can be vectorised
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) {
      const float x = logits[i + k];
      const float finite = x <= kMax ? x : -std::numeric_limits<float>::infinity();
      lanes[k] = finite > lanes[k] ? finite : lanes[k];
    }
  }
  float best = *std::max_element(lanes.begin(), lanes.end());
  for (; i < logits.size(); ++i) {
    best = logits[i] <= kMax && logits[i] > best ? logits[i] : best;
  }
  return best;
}

// The same over the ids whose bit is set.
float max_logit(std::span<const float> logits, std::span<const uint32_t> mask) {
  float best = -std::numeric_limits<float>::infinity();
  for (size_t word = 0; word * 32 < logits.size(); ++word) {
    const std::span<const float> some =
        logits.subspan(word * 32, std::min<size_t>(32, logits.size() - word * 32));
    if (mask[word] == ~0U) {
      best = std::max(best, max_logit(some));
      continue;
    }
    for (uint32_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(bits));
      if (i < some.size() && some[i] <= std::numeric_limits<float>::max()) {
        best = std::max(best, some[i]);
      }
    }
  }
  return best;
}

Sampler::Sampler(uint32_t n_vocab, uint32_t n_tokens)
    : n_tokens_(std::min(n_vocab, n_tokens)), counts_(n_vocab, 0) {
  candidates_.reserve(n_tokens_);
}

void Sampler::collect(const SampleInput& input, float floor) {
  candidates_.clear();
  for (uint32_t id = 0; id < n_tokens_; ++id) {
    if (id % 32 == 0 && !input.mask.empty() && input.mask[id / 32] == 0) {
      id += 31;
      continue;
    }
    const float logit = input.logits[id];
    // NaN and infinities are no evidence for anything.
    if (logit >= floor && logit <= std::numeric_limits<float>::max() &&
        (input.mask.empty() || ((input.mask[id / 32] >> (id % 32)) & 1u) != 0)) {
      candidates_.push_back({static_cast<TokenId>(id), static_cast<double>(logit)});
    }
  }
}

TokenId Sampler::sample(const Params& params, const SampleInput& input) {
  T9_CHECK(input.logits.size() == counts_.size());
  T9_CHECK(input.mask.empty() || input.mask.size() * 32 >= n_tokens_);
  float floor = std::numeric_limits<float>::lowest();
  if (leaves_logits_alone(params)) {
    const std::span<const float> tokens = input.logits.first(n_tokens_);
    const float best = input.mask.empty() ? max_logit(tokens) : max_logit(tokens, input.mask);
    // What no noise can lift to the top is left out: a few hundred candidates of a hundred thousand
    // stay. For top_p they weigh nothing: all of them together less than a millionth. Greedy keeps
    // the best alone.
    floor = std::max(floor, best - params.temperature * static_cast<float>(kNoiseSpan));
  }
  collect(input, floor);
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
