#include "sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"

namespace tempo9::sampling {
namespace {

// The n best of the first n_tokens logits, best first. n is small: an insertion into a sorted list.
std::vector<Candidate> best_candidates(std::span<const float> logits, uint32_t n) {
  std::vector<Candidate> best;
  best.reserve(n + 1);
  for (size_t i = 0; i < logits.size() && n > 0; ++i) {
    const auto score = static_cast<double>(logits[i]);
    if (std::isnan(score) || (best.size() == n && score <= best.back().score)) {
      continue;
    }
    const Candidate c{static_cast<TokenId>(i), score};
    best.insert(std::upper_bound(best.begin(), best.end(), c, ranks_before), c);
    if (best.size() > n) {
      best.pop_back();
    }
  }
  return best;
}

}  // namespace

Logprobs logprobs(std::span<const float> logits, TokenId id, uint32_t n_top, uint32_t n_tokens) {
  float top = -std::numeric_limits<float>::infinity();
  for (const float x : logits) {
    top = x > top ? x : top;
  }
  double sum = 0.0;
  for (const float x : logits) {
    const double weight = portable_exp(static_cast<double>(x) - static_cast<double>(top));
    sum += weight == weight ? weight : 0.0;
  }
  const double log_sum = portable_log(sum);
  const auto finite = [top, log_sum](double logit) {
    const auto value = static_cast<float>((logit - static_cast<double>(top)) - log_sum);
    return value > kLogprobFloor ? std::min(value, 0.0f) : kLogprobFloor;  // NaN: the floor
  };
  Logprobs result;
  result.chosen = finite(static_cast<double>(logits[static_cast<size_t>(id)]));
  for (const Candidate& c : best_candidates(logits.first(n_tokens), n_top)) {
    result.top.emplace_back(c.id, finite(c.score));
  }
  return result;
}

}  // namespace tempo9::sampling
