// Drawing a token: Gumbel-max with noise that belongs to the token, not to the moment of drawing.
#pragma once

#include <cstdint>
#include <vector>

#include "sampling/stages.h"

namespace tempo9::sampling {

// What the noise is keyed by, with the token's id. Steps, batch and drafts do not come in.
struct NoiseKey {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint32_t position = 0;  // in the reply
};

// Noise is in [-3.2, 22.9], so a score this far below the best one is never drawn.
inline constexpr double kNoiseSpan = 26.5;

// The standard Gumbel noise of a token.
double gumbel_noise(const NoiseKey& key, TokenId id);

// The candidate with the largest score + noise: a draw from softmax(scores). Independent of the
// candidates' order. Requires: at least one candidate.
TokenId draw(const NoiseKey& key, const std::vector<Candidate>& candidates);

}  // namespace tempo9::sampling
