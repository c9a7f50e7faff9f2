// The attention of a step on the CPU: cut into calls of the kernel, so that all threads have work.
// No result depends on the cut.
#pragma once

#include <atomic>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/plan.h"
#include "cpu/thread_pool.h"
#include "ops/batch.h"

namespace tempo9::cpu {

// Threads: as the backend's step.
class Attend {
 public:
  Attend(const KernelTable& kernels, ThreadPool& pool, const std::atomic<bool>& interrupted)
      : kernels_(kernels), pool_(pool), interrupted_(interrupted) {}

  // What a call of the kernel needs for such an op.
  static size_t scratch_bytes(const ops::Attention& op, const ops::KvLayer& kv);

  // Reserves what steps of so many rows need. Errors: kResourceExhausted.
  Status load(uint32_t max_rows);
  // The rows of the step that follows. The batch is read until its last op has run.
  void lay_out(const ops::Batch& batch);

  struct Job {
    const ops::Attention& op;
    const ops::KvLayer& kv;
    KvFormat format;
    const Activation& qkv;
    const Activation& out;
    const float* sinks;    // [op.n_heads] or null
    const uint8_t* keys;   // of page 0's first kv head
    size_t head_bytes;     // to the next head
    size_t page_stride;    // to the next page
    size_t v_offset;       // from keys to values
    uint8_t* scratch;      // of thread t at scratch + scratch_bytes * t
    size_t scratch_bytes;  // at least scratch_bytes()
  };
  void run(const Job& job);

 private:
  // A run of rows of one sequence whose attention one call computes, for heads of one kv head.
  struct RowRun {
    uint32_t sequence, first_row, n_rows, first_position;
  };
  // Cells of one item (a run of rows, a kv head and a part of its query heads) that a thread takes
  // together.
  struct CellPiece {
    uint32_t item, cell_begin, cell_end;
    size_t cells_offset;  // in floats, of the item's results
  };
  AttentionArgs args_of(const Job& job, uint32_t item, uint32_t thread) const;
  bool split_cells(const Job& job, uint32_t n_items);

  const KernelTable& kernels_;
  ThreadPool& pool_;
  const std::atomic<bool>& interrupted_;
  const ops::Batch* batch_ = nullptr;
  std::vector<RowRun> runs_;
  std::vector<CellPiece> pieces_;
  Memory cells_;
};

}  // namespace tempo9::cpu
