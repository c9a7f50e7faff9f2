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

float max_of_allowed(std::span<const float> logits, uint32_t allowed) {
  float best = -std::numeric_limits<float>::infinity();
  for (; allowed != 0; allowed &= allowed - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(allowed));
    if (i < logits.size() && logits[i] <= std::numeric_limits<float>::max())
      best = std::max(best, logits[i]);
  }
  return best;
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
  constexpr size_t kLanes = 8;  // independent maxima: loops that can be vectorised
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
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t k = 0; k < width; ++k)
      lanes[k] = lanes[k + width] > lanes[k] ? lanes[k + width] : lanes[k];
  }
  float best = lanes[0];
  for (; i < logits.size(); ++i) {
    best = logits[i] <= kMax && logits[i] > best ? logits[i] : best;
  }
  return best;
}

Sampler::Sampler(uint32_t n_vocab, uint32_t n_tokens)
    : n_tokens_(std::min(n_vocab, n_tokens)),
      run_best_((n_tokens_ + kRun - 1) / kRun),
      counts_(n_vocab, 0) {
  candidates_.reserve(n_tokens_);
}

float Sampler::scan(const SampleInput& input) {
  float best = -std::numeric_limits<float>::infinity();
  for (uint32_t run = 0; run < run_best_.size(); ++run) {
    const uint32_t begin = run * kRun, n = std::min(kRun, n_tokens_ - begin);
    const uint32_t allowed = input.mask.empty() ? ~0U : input.mask[run];
    const std::span<const float> logits = input.logits.subspan(begin, n);
    if (allowed != ~0U) {
      run_best_[run] = max_of_allowed(logits, allowed);
    } else if (n == kRun && !input.run_maxima.empty()) {
      run_best_[run] = input.run_maxima[run];
    } else {
      run_best_[run] = max_logit(logits);
    }
    best = std::max(best, run_best_[run]);
  }
  return best;
}

void Sampler::collect(const SampleInput& input, float floor) {
  candidates_.clear();
  for (uint32_t run = 0; run < run_best_.size(); ++run) {
    if (!(run_best_[run] >= floor)) continue;
    const uint32_t begin = run * kRun, end = std::min(begin + kRun, n_tokens_);
    const uint32_t allowed = input.mask.empty() ? ~0U : input.mask[run];
    for (uint32_t id = begin; id < end; ++id) {
      const float logit = input.logits[id];
      // NaN and infinities are no evidence for anything.
      if (logit >= floor && logit <= std::numeric_limits<float>::max() &&
          (allowed >> (id - begin) & 1u) != 0) {
        candidates_.push_back({static_cast<TokenId>(id), static_cast<double>(logit)});
      }
    }
  }
}

TokenId Sampler::sample(const Params& params, const SampleInput& input) {
  T9_CHECK(input.logits.size() == counts_.size());
  T9_CHECK(input.mask.empty() || input.mask.size() * 32 >= n_tokens_);
  T9_CHECK(input.run_maxima.empty() || input.run_maxima.size() >= run_best_.size());
  float floor = std::numeric_limits<float>::lowest();
  const float best = scan(input);
  if (leaves_logits_alone(params)) {
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
