// A program's matrices in memory, in the form that the kernels read.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cpu/memory.h"
#include "cpu/pack.h"
#include "cpu/thread_pool.h"
#include "ops/backend.h"
#include "ops/program.h"

namespace tempo9::cpu {

struct Weight {
  DType type = DType::kF32;
  std::optional<Packing> packing;              // none: rows as in the file, read by embeddings only
  uint32_t n_in = 0, n_out = 0, n_groups = 0;  // of one expert's matrix
  uint32_t n_experts = 1;                      // matrices, one behind the other
  float scale = 1.0f;
  size_t group_bytes = 0;  // packed; a file row's bytes otherwise
  Memory memory;

  bool takes_quantized_rows() const { return packing && is_quantized(*packing); }
};

// Copies and packs all matrices, or reads them packed from options.packed_file. A table that only
// an embedding reads stays in the file's form. Errors: kUnsupported (no codec), kCorrupt (rows that
// are no whole number of blocks), kResourceExhausted; kInvalidArgument when packed_file is a file
// of another kind.
Result<std::vector<Weight>> load_weights(const ops::Program& program, ThreadPool& pool,
                                         const ops::BackendOptions& options = {});

uint64_t bytes_of(const std::vector<Weight>& weights);  // in memory

// One output's weights as f32: a token's embedding. out [n_in]. Not for experts.
void read_row(const Weight& weight, uint32_t row, float* out);

}  // namespace tempo9::cpu
