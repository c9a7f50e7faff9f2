// What is decided once at load about a program's activations: which buffer each lives in, and which
// are also kept as int8 rows because a quantised product reads them.
#pragma once

#include <vector>

#include "cpu/memory.h"
#include "cpu/weights.h"
#include "ops/program.h"

namespace tempo9::cpu {

struct Activation {
  float* data = nullptr;  // [n_rows, width], or [n_rows * n_slots, width] by place (cpu/experts.h)
  uint32_t width = 0;
  uint32_t n_slots = 0;    // 0: none
  bool quantized = false;  // rows are also in quant
  QuantRows quant;
};

// Writes row r of x as int8, too, where x is quantised.
void quantize_row(const KernelTable& kernels, const Activation& x, size_t r);

struct Plan {
  std::vector<Activation> activations;  // by TensorId
  Memory memory;                        // what they point into
};

// Buffers are reused once their last reader has run. Errors: kResourceExhausted.
Result<Plan> plan_activations(const ops::Program& program, const std::vector<Weight>& weights,
                              uint32_t max_rows);

}  // namespace tempo9::cpu
