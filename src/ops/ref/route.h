// Which experts a row goes to, by the definition, in f64.
#pragma once

#include <vector>

#include "ops/program.h"

namespace tempo9::ops {

// logits [n_experts]; bias, scales: as op's, empty where it has none. Gives [2 * op.n_used]: the
// weights, then the experts.
std::vector<double> route(const Route& op, const std::vector<double>& logits,
                          const std::vector<float>& bias, const std::vector<float>& scales);

}  // namespace tempo9::ops
