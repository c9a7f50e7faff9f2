// A router's kinds, apart from the program so that kernels need not know that.
#pragma once

#include <cstdint>

namespace tempo9::ops {

// How an expert's score comes from its logit.
enum class Gating {
  kSoftmax,          // of all experts
  kSigmoid,          // of each alone
  kSoftmaxOfChosen,  // the logits choose; then a softmax of those chosen
};

}  // namespace tempo9::ops
