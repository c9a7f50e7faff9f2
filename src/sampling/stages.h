// The stages between raw logits and a token, one file each. Which ones run, and in what order:
// stages.inc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/params.h"

namespace tempo9::sampling {

using TokenId = int32_t;

struct Candidate {
  TokenId id;
  double score;  // a logit, after temperature a logit / temperature
};

struct StageInput {
  const Params& params;
  std::span<const TokenId> prompt;  // ids within [0, counts.size())
  std::span<const TokenId> output;
  std::vector<uint32_t>& counts;  // [n_vocab] scratch, all zero before and after each stage
};

// A stage changes scores or removes candidates, never the last one. It does nothing when its
// parameter is neutral. Candidates are in order of their ids until top_k; no stage may rely on the
// order after that. Ties: the lower id ranks first.
using Stage = void (*)(const StageInput& input, std::vector<Candidate>* candidates);

#define T9_STAGE(name) void name(const StageInput& input, std::vector<Candidate>* candidates);
#include "sampling/stages.inc"
#undef T9_STAGE

inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

double max_score(const std::vector<Candidate>& candidates);

// The largest logit that is a finite number; -infinity when there is none.
float max_logit(std::span<const float> logits);

}  // namespace tempo9::sampling
