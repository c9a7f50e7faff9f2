// What a request must be before it reaches the engine's thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/engine.h"

namespace tempo9::engine {

inline constexpr uint32_t kMaxLogprobs = 20;

// n_ids: token ids are below it. Errors: kInvalidArgument, naming the field, what was found and
// what was expected.
Status validate_request(const GenerateRequest& request, uint32_t max_length, uint32_t n_ids);
// The same, and kUnsupported for text from a model that writes none.
Status validate_request(const GenerateRequest& request, const ModelInfo& info, uint32_t n_ids);

}  // namespace tempo9::engine
