// The machine's own limits, measured, so that a benchmark can say which share of them a model
// reaches. docs/performance.md says what each stands for.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cpu/roof_kernels.h"
#include "ops/roof.h"

namespace tempo9::cpu {

// The loops of that kernel table; null for a name that is in no list.
const RoofKernels* find_roof_kernels(std::string_view table_name);

// Measures one roof on options.n_threads threads: a warm-up, then n_repeats times. Work is claimed
// in pieces of well under a millisecond, so that a late thread holds little back.
// Errors: kInvalidArgument (isa), kResourceExhausted (no memory for the buffer that is read).
Result<ops::RoofRates> measure_roof(ops::Roof roof, const ops::RoofOptions& options);

}  // namespace tempo9::cpu
