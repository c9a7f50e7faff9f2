// From a prompt's hidden states to one vector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace tempo9::engine {

// Mean and cls need the states of tokens that the prefix cache would leave out; last needs the last
// token's only, which is always computed.
inline bool pools_all_rows(Pooling pooling) {
  return pooling == Pooling::kMean || pooling == Pooling::kCls;
}

// Order: a mean adds the states in double, token after token from the first on, however the prompt
// was cut into slices: equal states, equal bits (docs/determinism.md).
class Pool {
 public:
  explicit Pool(Pooling pooling = Pooling::kNone) : pooling_(pooling) {}

  // states: [n_rows, width], of the tokens from first_position on. Those that were added before (a
  // prompt that is read again after it gave its pages up) are skipped.
  // Requires: with kMean and kCls no gap to the call before.
  void add(uint32_t first_position, uint32_t n_rows, std::span<const float> states);

  // Requires: a call of add(). Errors: kInternal for a state that is no number.
  Result<std::vector<float>> result() const;

 private:
  Pooling pooling_;
  uint32_t n_added_ = 0;     // kMean, kCls
  std::vector<double> sum_;  // kMean; else the one state
};

}  // namespace tempo9::engine
