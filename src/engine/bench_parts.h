// Where a step's time goes: the times of a program's ops, gathered by what they do.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/program.h"

namespace tempo9::engine {

// Ops of all layers that do the same.
struct BenchPart {
  std::string name;  // "attention"; of a product its tensors: "attn_q+attn_k+attn_v"
  double seconds = 0;
};

// op_seconds: one for each op of the program. The longest first; none that took no time.
std::vector<BenchPart> bench_parts(const ops::Program& program, std::span<const double> op_seconds);

}  // namespace tempo9::engine
