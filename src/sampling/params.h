// What a request may say about sampling. Checked by validate(); the defaults are OpenAI's.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tempo9::sampling {

struct Params {
  float temperature = 1.0f;                                // 0: greedy. [0, 100]
  int32_t top_k = 0;                                       // 0 or -1: all
  float top_p = 1.0f;                                      // [0, 1]; 0: the likeliest alone
  float min_p = 0.0f;                                      // [0, 1]
  float repetition_penalty = 1.0f;                         // > 0; over prompt and reply
  float frequency_penalty = 0.0f;                          // [-2, 2]; over the reply
  float presence_penalty = 0.0f;                           // [-2, 2]; over the reply
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // token id, [-100, 100]
  std::optional<uint64_t> seed = {};                       // none: drawn at admission
};

// kInvalidArgument naming the field, the value and the range.
Status validate(const Params& params);

}  // namespace tempo9::sampling
