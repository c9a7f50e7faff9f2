// The promise of docs/determinism.md, tried on one model and one machine: the same requests in many
// circumstances, and the same bytes each time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace tempo9::engine {

struct DeterminismPlan {
  uint32_t n_prompt = 700;  // tokens: slices of 64 and 512 cut it differently
  uint32_t n_reply = 24;
  // Where pages are written and read again; empty: that case is left out.
  std::string disk_folder;
};

struct DeterminismCase {
  std::string name;  // "1 thread", "beside 7 others"...
  uint32_t n_replies = 0;
  uint32_t n_different = 0;
  std::string first_difference;  // of the first reply that differs: both texts from there on
};

// Loads the model several times. Calls on_case after each; true at the end: all replies were equal.
// Errors: as Engine::create; kInvalidArgument when the context is too short for the plan.
Result<bool> try_determinism(const EngineOptions& options, const DeterminismPlan& plan,
                             const std::function<void(const DeterminismCase&)>& on_case);

}  // namespace tempo9::engine
