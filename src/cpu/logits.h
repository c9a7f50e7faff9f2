// The logits of a step's rows, and the largest of each run of ids.
#pragma once

#include <span>

#include "cpu/kernels.h"
#include "cpu/memory.h"
#include "cpu/thread_pool.h"

namespace tempo9::cpu {

// Threads: as the backend's step.
class Logits {
 public:
  Logits(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // Errors: kResourceExhausted.
  Status reserve(uint32_t max_rows, uint32_t n_vocab);

  float* data() { return reinterpret_cast<float*>(logits_.data()); }  // [n_rows, n_vocab]
  // What follows the head's product for the first n_rows rows. softcap: 0: none.
  void finish(uint32_t n_rows, float softcap);

  // As ops::Backend's, of the first n_rows rows.
  std::span<const float> values(size_t n_rows) const;
  std::span<const float> run_maxima(size_t n_rows) const;

 private:
  const KernelTable& kernels_;
  ThreadPool& pool_;
  uint32_t n_vocab_ = 0;
  Memory logits_, run_maxima_;
};

}  // namespace tempo9::cpu
