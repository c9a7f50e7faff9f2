// Min-p (Nguyen et al. 2024, arXiv:2407.01082): keeps what is at least min_p times as likely as the
// most likely.
#include "base/math.h"
#include "sampling/stages.h"

namespace tempo9::sampling {

void min_p(const StageInput& input, std::vector<Candidate>* candidates) {
  if (input.params.min_p <= 0.0f) {
    return;
  }
  const double floor =
      max_score(*candidates) + portable_log(static_cast<double>(input.params.min_p));
  std::erase_if(*candidates, [&](const Candidate& c) { return c.score < floor; });
}

}  // namespace tempo9::sampling
