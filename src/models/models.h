// From a file to a Program. One file per architecture, over shared blocks; models/list.inc names
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "ops/program.h"

namespace tempo9::models {

// Records the forward pass of the file's model. The program borrows the file's mapping.
// Errors: kUnsupported (architecture not in models/list.inc, named with the known ones; a feature
// the graph lacks), kCorrupt (a tensor or key missing or of the wrong shape, named with what was
// found and what was expected). max_length: the longest sequence that will be served, which
// longrope depends on; 0: the file's context length.
Result<ops::Program> build_program(const gguf::File& file, uint32_t max_length = 0);

std::vector<std::string_view> known_architectures();

// The most positions that the file declares ({arch}.context_length).
Result<uint32_t> context_length(const gguf::File& file);

}  // namespace tempo9::models
