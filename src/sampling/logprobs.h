// Log-probabilities of the raw distribution, before bias, penalties and temperature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/stages.h"

namespace tempo9::sampling {

// JSON has no infinity: what is impossible gets this.
inline constexpr float kLogprobFloor = -9999.0f;

struct Logprobs {
  float chosen = 0.0f;                         // of the id asked about
  std::vector<std::pair<TokenId, float>> top;  // most likely first, ties: lower id first
};

// Log-softmax of logits [n_vocab], summed in double in order of the ids.
// Of the n_top alternatives only ids below n_tokens are named (rows that pad the vocabulary are not
// tokens). Requires: 0 <= id < n_vocab; n_tokens <= n_vocab.
Logprobs logprobs(std::span<const float> logits, TokenId id, uint32_t n_top, uint32_t n_tokens);

}  // namespace tempo9::sampling
