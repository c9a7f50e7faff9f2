#include "ops/ref/route.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tempo9::ops {
namespace {

// The n largest, falling; of equal ones the lower index first.
std::vector<size_t> best(const std::vector<double>& values, size_t n) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(n);
  return order;
}

void keep_best_groups(const Route& op, std::vector<double>& choice) {
  const size_t size = choice.size() / op.n_groups;
  std::vector<double> groups;
  for (auto at = choice.begin(); at != choice.end(); at += static_cast<ptrdiff_t>(size)) {
    const std::vector<double> members(at, at + static_cast<ptrdiff_t>(size));
    double sum = 0;
    for (const size_t e : best(members, std::min<size_t>(op.n_group_best, size))) sum += members[e];
    groups.push_back(sum);
  }
  std::vector<bool> kept(op.n_groups);
  for (const size_t g : best(groups, op.n_groups_used)) kept[g] = true;
  for (size_t e = 0; e < choice.size(); ++e)
    if (!kept[e / size]) choice[e] = -std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<double> route(const Route& op, const std::vector<double>& logits,
                          const std::vector<float>& bias, const std::vector<float>& scales) {
  std::vector<double> scores = logits, choice;
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& s : scores) sum += std::exp(s - top);
  for (double& s : scores) {
    if (op.gating == Gating::kSoftmax) s = std::exp(s - top) / sum;
    if (op.gating == Gating::kSigmoid) s = 1 / (1 + std::exp(-s));
  }
  choice = scores;
  for (size_t e = 0; e < bias.size(); ++e) choice[e] += static_cast<double>(bias[e]);
  if (op.n_groups > 1) keep_best_groups(op, choice);
  std::vector<double> weights, experts;
  double total = 0;
  for (const size_t e : best(choice, op.n_used)) {
    experts.push_back(static_cast<double>(e));
    weights.push_back(op.gating == Gating::kSoftmaxOfChosen ? std::exp(scores[e] - top)
                                                            : scores[e]);
    total += weights.back();
  }
  const bool divide = op.normalise || op.gating == Gating::kSoftmaxOfChosen;
  for (double& w : weights) w = w / (divide ? total : 1) * static_cast<double>(op.scale);
  for (size_t i = 0; !scales.empty() && i < experts.size(); ++i)
    weights[i] *= static_cast<double>(scales[static_cast<size_t>(experts[i])]);
  weights.insert(weights.end(), experts.begin(), experts.end());
  return weights;
}

}  // namespace tempo9::ops
