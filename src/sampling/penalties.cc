// Repetition (Keskar et al. 2019, arXiv:1909.05858): a seen token's positive logit is divided, a
// negative one multiplied. Frequency and presence: as in OpenAI's API, counted over the reply
// alone.
#include "sampling/stages.h"

namespace tempo9::sampling {
namespace {

void repetition(const StageInput& input, std::vector<Candidate>* candidates) {
  for (const auto ids : {input.prompt, input.output}) {
    for (const TokenId id : ids) {
      input.counts[static_cast<size_t>(id)] = 1;
    }
  }
  const auto penalty = static_cast<double>(input.params.repetition_penalty);
  for (Candidate& c : *candidates) {
    if (input.counts[static_cast<size_t>(c.id)] != 0) {
      c.score = c.score > 0.0 ? c.score / penalty : c.score * penalty;
    }
  }
  for (const auto ids : {input.prompt, input.output}) {
    for (const TokenId id : ids) {
      input.counts[static_cast<size_t>(id)] = 0;
    }
  }
}

void frequency_and_presence(const StageInput& input, std::vector<Candidate>* candidates) {
  for (const TokenId id : input.output) {
    ++input.counts[static_cast<size_t>(id)];
  }
  const auto frequency = static_cast<double>(input.params.frequency_penalty);
  const auto presence = static_cast<double>(input.params.presence_penalty);
  for (Candidate& c : *candidates) {
    const uint32_t count = input.counts[static_cast<size_t>(c.id)];
    if (count != 0) {
      c.score -= frequency * count + presence;
    }
  }
  for (const TokenId id : input.output) {
    input.counts[static_cast<size_t>(id)] = 0;
  }
}

}  // namespace

void penalties(const StageInput& input, std::vector<Candidate>* candidates) {
  if (input.params.repetition_penalty != 1.0f) {
    repetition(input, candidates);
  }
  if (input.params.frequency_penalty != 0.0f || input.params.presence_penalty != 0.0f) {
    frequency_and_presence(input, candidates);
  }
}

}  // namespace tempo9::sampling
