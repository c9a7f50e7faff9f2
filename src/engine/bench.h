// Times a backend as the engine drives it: prompts in slices, replies a greedy token at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/bench_parts.h"
#include "ops/backend.h"
#include "ops/program.h"
#include "sampling/sampler.h"

namespace tempo9::engine {

inline constexpr uint32_t kBenchSlice = 512;  // rows of a prompt in a step: the scheduler's own

// Which cases, in the order in which they are measured: prompts, then for each length of a reply
// each number of rows.
struct BenchPlan {
  std::vector<uint32_t> prefill = {};  // tokens of a prompt
  std::vector<uint32_t> decode = {};   // tokens of a reply
  std::vector<uint32_t> rows = {1};    // sequences that decode together
  uint32_t depth = 0;                  // tokens of context before a reply
  uint32_t n_repeats = 5;

  uint32_t max_rows() const;
  // KV pages that the cases need, each sequence its own. Requires, for a backend: below 2^32.
  uint64_t n_pages() const;
  uint64_t max_length() const;  // of a sequence, in tokens
};

struct BenchResult {
  enum class Kind { kPrefill, kDecode };
  Kind kind = Kind::kPrefill;
  uint32_t n = 0;
  uint32_t rows = 1;
  uint32_t depth = 0;
  std::vector<double> seconds;   // one for each repeat
  std::vector<BenchPart> parts;  // of all repeats together; none unless ops are timed
  // The work of a repeat that has a roof. Prefill: multiply-adds of the weight matrices. Decode:
  // bytes of packed weights (once a step) and of KV (each row's) that must be read.
  double work = 0;

  uint64_t n_tokens() const { return uint64_t{n} * rows; }
};

// Threads: one caller at a time.
class Bench {
 public:
  // Requires: the backend is made from the program, whose file is still open, with plan.n_pages()
  // pages, kBenchSlice rows and plan.max_rows() logit rows; token ids below n_ids are in the
  // embedding table. op_seconds: the backend's, or null. All outlive the object.
  Bench(const ops::Program& program, ops::KvType kv_type, uint32_t n_ids, ops::Backend* backend,
        const Clock* clock, std::vector<double>* op_seconds = nullptr);

  // Runs all cases, each after a warm-up that is not timed; calls sink with each result as it is
  // there. Errors: the backend's; kInternal when the logits hold no number.
  Status run(const BenchPlan& plan, const std::function<void(const BenchResult&)>& sink);

 private:
  Result<BenchResult> prefill(uint32_t n);
  Result<BenchResult> decode(uint32_t n, uint32_t rows);
  // Reads n tokens from the sequence's first on and chooses the next.
  Status read_prompt(uint32_t n);
  // Puts plan_.depth tokens before each of the sequences.
  Status make_context();
  // A greedy reply of n tokens in each of the first `rows` sequences, behind the context.
  Status write_replies(uint32_t n, uint32_t rows);
  Result<int32_t> choose(std::span<const float> logits, uint32_t row);
  bool is_recurrent() const { return backend_->state_bytes() > 0; }
  std::span<const ops::PageId> pages(uint32_t sequence) const;
  // Fills in the result's seconds and parts.
  Status time(const std::function<Status()>& repeat, BenchResult* result) const;

  const ops::Program& program_;
  ops::KvType kv_type_;
  uint32_t n_ids_;
  ops::Backend* backend_;
  const Clock* clock_;
  std::vector<double>* op_seconds_;
  sampling::Sampler sampler_;
  uint64_t weight_bytes_;  // that a step reads
  BenchPlan plan_;
  std::vector<ops::PageId> page_ids_;
  uint32_t pages_a_sequence_ = 0;  // of those that decode
};

}  // namespace tempo9::engine
