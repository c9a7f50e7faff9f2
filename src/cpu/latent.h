// Products that each head has of its own (ops::HeadLinear), as latent attention does with its
// absorbed weights.
#pragma once

#include <atomic>
#include <vector>

#include "cpu/plan.h"
#include "cpu/product.h"
#include "cpu/thread_pool.h"

namespace tempo9::cpu {

// Threads: as the backend's step.
class Latent {
 public:
  Latent(const KernelTable& kernels, ThreadPool& pool, const std::atomic<bool>& interrupted)
      : kernels_(kernels), pool_(pool), interrupted_(interrupted) {}

  // Reserves what the program's ops need. Errors: kResourceExhausted.
  Status load(const ops::Program& program, const std::vector<Weight>& weights, uint32_t max_rows);

  // chunks: plan_chunks of op's matrix. scratch: of thread t at scratch + scratch_bytes * t,
  // linear_scratch_bytes of the most rows of a step.
  void linear(const ops::HeadLinear& op, const std::vector<Chunk>& chunks, const Activation& in,
              const Activation& out, uint32_t n_rows, uint8_t* scratch, size_t scratch_bytes);

 private:
  // The rows of all heads as int8, a head's behind one another.
  QuantRows quantized(const ops::HeadLinear& op, const Weight& weight, const Activation& in,
                      uint32_t n_rows);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  const std::atomic<bool>& interrupted_;
  Memory rows_;
};

}  // namespace tempo9::cpu
