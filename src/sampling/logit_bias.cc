#include <algorithm>

#include "sampling/stages.h"

namespace tempo9::sampling {

void logit_bias(const StageInput& input, std::vector<Candidate>* candidates) {
  for (const auto& [id, bias] : input.params.logit_bias) {
    const auto it =
        std::lower_bound(candidates->begin(), candidates->end(), id,
                         [](const Candidate& c, TokenId wanted) { return c.id < wanted; });
    if (it != candidates->end() && it->id == id) {
      it->score += static_cast<double>(bias);
    }
  }
}

}  // namespace tempo9::sampling
