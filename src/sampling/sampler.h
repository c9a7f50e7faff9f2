// From a row of logits to a token: mask, stages.inc in order, then the most likely (temperature 0)
// or a draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sampling/gumbel.h"
#include "sampling/params.h"
#include "sampling/stages.h"

namespace tempo9::sampling {

struct SampleInput {
  std::span<const float> logits = {};    // [n_vocab]
  std::span<const TokenId> prompt = {};  // for penalties
  std::span<const TokenId> output = {};
  // The largest finite logit of each run of Sampler::kRun ids, -inf where there is none. Empty: not
  // known, then it is looked for.
  std::span<const float> run_maxima = {};
  std::span<const uint32_t> mask = {};  // bit id % 32 of word id / 32: allowed. Empty: all are
  NoiseKey key = {};                    // unused when greedy
};

// Keeps scratch between calls and nothing else: the same input gives the same token. Threads: one
// caller at a time.
class Sampler {
 public:
  // Ids from n_tokens on are never sampled: they pad the model's vocabulary and mean nothing to the
  // tokenizer.
  Sampler(uint32_t n_vocab, uint32_t n_tokens);

  // -1: nothing is allowed, or no allowed logit is a number.
  TokenId sample(const Params& params, const SampleInput& input);

  static constexpr uint32_t kRun = 32;  // ids that share a word of the mask

 private:
  // Fills run_best_ with the best allowed logit of each run of ids, and gives the best of all.
  float scan(const SampleInput& input);
  // Candidates are what is allowed, finite and not below floor. Requires: scan(input). Runs whose
  // best is below the floor are passed over.
  void collect(const SampleInput& input, float floor);

  uint32_t n_tokens_;
  std::vector<Candidate> candidates_;
  std::vector<float> run_best_;
  std::vector<uint32_t> counts_;
};

}  // namespace tempo9::sampling
