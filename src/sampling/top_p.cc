// Nucleus sampling (Holtzman et al. 2019, arXiv:1904.09751): the smallest set of most likely
// candidates whose probabilities add up to top_p.
#include <algorithm>

#include "base/math.h"
#include "sampling/stages.h"

namespace tempo9::sampling {

void top_p(const StageInput& input, std::vector<Candidate>* candidates) {
  const auto p = static_cast<double>(input.params.top_p);
  if (p >= 1.0) {
    return;
  }
  const double top = max_score(*candidates);
  double total = 0.0;
  for (const Candidate& c : *candidates) {
    total += portable_exp(c.score - top);
  }
  // Candidates below this weight add up to less than (1 - p) all together, so none of them is in
  // the set: the sort sees hundreds instead of a whole vocabulary.
  const double floor = (1.0 - p) * total / static_cast<double>(candidates->size());
  const double floor_score = top + portable_log(floor) - 1e-9;
  std::erase_if(*candidates, [&](const Candidate& c) { return c.score < floor_score; });
  std::sort(candidates->begin(), candidates->end(), ranks_before);
  double sum = 0.0;
  size_t n = 0;
  while (n < candidates->size() && sum < p * total) {
    sum += portable_exp((*candidates)[n].score - top);
    ++n;
  }
  candidates->resize(std::max<size_t>(n, 1));
}

}  // namespace tempo9::sampling
