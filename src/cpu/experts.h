// Mixture of experts on the CPU. A row's slots are kept in places sorted by expert, so that each
// expert's rows are neighbours, meet its weights in one product, and those are read once a step.
// Within an expert, places follow rows. No result depends on the order of places: every (row, slot)
// has its own, and a row's slots are summed in their order.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "cpu/plan.h"
#include "cpu/product.h"
#include "cpu/thread_pool.h"

namespace tempo9::cpu {

// Which rows go to which expert, in one step of one layer.
class ExpertPlaces {
 public:
  struct Run {
    uint32_t expert, first_place, n_places;
  };
  // routes [n_rows, 2 * n_used] as ops::Route leaves them.
  void sort(const float* routes, uint32_t n_rows, uint32_t n_used, uint32_t n_experts);

  std::span<const Run> runs() const { return runs_; }  // experts that some row chose, ascending
  std::span<const uint32_t> rows() const { return rows_; }  // by place
  uint32_t place(uint32_t row, uint32_t slot) const { return places_[row * n_used_ + slot]; }

 private:
  uint32_t n_used_ = 0;
  std::vector<Run> runs_;
  std::vector<uint32_t> rows_, places_, next_;
};

// The ops of a step that concern experts. Threads: as the backend's step.
class Experts {
 public:
  Experts(const KernelTable& kernels, ThreadPool& pool, const std::atomic<bool>& interrupted)
      : kernels_(kernels), pool_(pool), interrupted_(interrupted) {}

  // Reserves what the program's expert ops need. Errors: kResourceExhausted.
  Status load(const ops::Program& program, const std::vector<Weight>& weights, uint32_t max_rows);

  // bias and scales: op's vectors, or null.
  void route(const ops::Route& op, const float* bias, const float* scales, const Activation& logits,
             const Activation& out, uint32_t n_rows);
  // chunks: plan_chunks of op's matrices. bias: [n_experts, out.width] or null. scratch: of thread
  // t at scratch + scratch_bytes * t, linear_scratch_bytes of the most rows of a step.
  void linear(const std::vector<Chunk>& chunks, const float* bias, const Activation& in,
              const Activation& routes, const Activation& out, uint32_t n_rows, uint8_t* scratch,
              size_t scratch_bytes);
  // With add, out += the sum.
  void sum(const Activation& in, const Activation& routes, const Activation& out, uint32_t n_rows,
           bool add);

 private:
  // The places' rows of in behind one another, in the form that the chunks read; in itself where it
  // has slots.
  Activation in_places(const Activation& in, const std::vector<Chunk>& chunks);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  const std::atomic<bool>& interrupted_;
  const float* sorted_ = nullptr;  // the routes that places_ holds
  uint32_t n_experts_ = 0;         // of the router that ran last
  ExpertPlaces places_;
  Memory gathered_, route_scratch_;
  size_t route_scratch_floats_ = 0;  // a thread
};

}  // namespace tempo9::cpu
