#include "sampling/logprobs.h"

#include <algorithm>
#include <array>
#include <cmath>

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

// The sum of e^(logit - top) in order of the ids; what is no number weighs nothing.
double sum_of_weights(std::span<const float> logits, double top) {
  constexpr size_t kBlock = 256;
  std::array<double, kBlock> weights;
  double sum = 0.0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, logits.size() - begin);
    for (size_t i = 0; i < n; ++i) {  // apart from the sum, so that it is vectorised
      weights[i] = portable_exp(static_cast<double>(logits[begin + i]) - top);
    }
    for (size_t i = 0; i < n; ++i) {
      sum += weights[i] == weights[i] ? weights[i] : 0.0;
    }
  }
  return sum;
}

}  // namespace

Logprobs logprobs(std::span<const float> logits, TokenId id, uint32_t n_top, uint32_t n_tokens) {
  const float top = max_logit(logits);
  const double sum = sum_of_weights(logits, static_cast<double>(top));
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
