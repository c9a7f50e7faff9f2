#include <algorithm>

#include "sampling/stages.h"

namespace tempo9::sampling {

void top_k(const StageInput& input, std::vector<Candidate>* candidates) {
  if (input.params.top_k <= 0 || candidates->size() <= static_cast<size_t>(input.params.top_k)) {
    return;
  }
  const auto end = candidates->begin() + input.params.top_k;
  std::partial_sort(candidates->begin(), end, candidates->end(), ranks_before);
  candidates->erase(end, candidates->end());
}

}  // namespace tempo9::sampling
