#include "sampling/stages.h"

namespace tempo9::sampling {

// In double, so that the smallest temperature that a float can hold does not overflow.
void temperature(const StageInput& input, std::vector<Candidate>* candidates) {
  const auto t = static_cast<double>(input.params.temperature);
  if (t == 0.0 || t == 1.0) {
    return;
  }
  for (Candidate& c : *candidates) {
    c.score /= t;
  }
}

}  // namespace tempo9::sampling
