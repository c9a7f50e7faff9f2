// Recurrent layers on the CPU: where states lie, and the ops of a step that read and write them. A
// thread walks all rows of one sequence for a few columns, by the recurrence itself, so bits do not
// depend on how a sequence is cut into steps (docs/determinism.md).
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "cpu/memory.h"
#include "cpu/plan.h"
#include "cpu/thread_pool.h"
#include "ops/batch.h"
#include "ops/program.h"

namespace tempo9::cpu {

// The memory of all slots. Reserved address space: touched when a state is written, and given back
// by drop().
class StateArena {
 public:
  // Errors: kResourceExhausted.
  Status reserve(const ops::Program& program, uint32_t n_slots);

  size_t bytes() const { return bytes_; }  // of a slot
  float* part(ops::StateSlot slot, uint32_t state_part) const {
    return reinterpret_cast<float*>(memory_.data() + slot * bytes_ + offsets_[state_part]);
  }
  void drop(ops::StateSlot slot) { memory_.release(slot * bytes_, bytes_); }
  void read(ops::StateSlot slot, std::span<uint8_t> out) const;
  void write(ops::StateSlot slot, std::span<const uint8_t> bytes);

 private:
  Memory memory_;
  size_t bytes_ = 0;
  std::vector<size_t> offsets_;  // by state part, and the end
};

// The ops of a step that are recurrent. Threads: as the backend's step.
class Recurrent {
 public:
  Recurrent(const KernelTable& kernels, ThreadPool& pool, const std::atomic<bool>& interrupted)
      : kernels_(kernels), pool_(pool), interrupted_(interrupted) {}

  // Both outlive the object. Errors: kResourceExhausted.
  Status load(const ops::Program& program, const Plan& plan, uint32_t max_rows, uint32_t n_slots);
  StateArena& arena() { return arena_; }
  const StateArena& arena() const { return arena_; }

  // Of all rows. What the first three give is not quantised here.
  void run(const ops::CausalConv& op, const ops::Batch& batch);
  void run(const ops::GatedDelta& op, const ops::Batch& batch);
  void run(const ops::Mamba2Scan& op, const ops::Batch& batch);
  void run(const ops::GatedNorm& op, const ops::Batch& batch);

 private:
  // One head of one sequence, some columns of its state.
  struct Walk {
    const ops::BatchSequence& sequence;
    uint32_t head, column_begin, column_end;
    uint32_t thread;
  };
  // Calls fn(const Walk&) for all heads and columns of all sequences, in any order.
  template <typename Fn>
  void each_walk(const ops::Batch& batch, uint32_t n_heads, uint32_t n_columns, Fn fn);
  // Calls fn(first row, rows, state before them or null, where the state behind them goes), row
  // after row, cut where the sequence asks for its state.
  template <typename Fn>
  void each_piece(const Walk& walk, uint32_t state_part, uint32_t d_in, uint32_t n_columns, Fn fn);
  const Activation& tensor(ops::TensorId id) const {
    return plan_->activations[static_cast<size_t>(id.index)];
  }
  const std::vector<float>& vector(ops::VectorId id) const {
    return program_->vectors[static_cast<size_t>(id.index)];
  }
  // Of the sequence: where a part of its states goes, from offset on.
  std::span<const StateTarget> targets(const ops::BatchSequence& sequence, uint32_t state_part,
                                       size_t offset, uint32_t thread);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  const std::atomic<bool>& interrupted_;
  const ops::Program* program_ = nullptr;
  const Plan* plan_ = nullptr;
  StateArena arena_;
  std::vector<std::vector<float>> conv_weights_;   // by state part, [n_taps][width]
  std::vector<std::vector<StateTarget>> targets_;  // by thread
  std::vector<float> gates_;  // of the op that runs, [n_rows][what its rows' heads take]
  // By thread: a head's state that nobody asked for.
  Memory unwanted_;
  size_t unwanted_floats_ = 0;
};

}  // namespace tempo9::cpu
