// What the next step computes. A pure state machine: no clock, thread, device or I/O; plan(), then
// apply().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kv/cache.h"
#include "sched/step_cost.h"

namespace tempo9::sched {

using kv::PageId;
using kv::TokenId;
using SequenceId = uint64_t;

struct Limits {
  uint32_t max_batch = 16;       // sequences that run at a time
  uint32_t max_rows = 512;       // rows of a step
  uint32_t max_logit_rows = 64;  // > max_batch; what is above it serves sequences with all_logits
  // A prompt is one slice (of at most max_rows), none of it is found in the cache and none is left
  // there: for models whose rows see what is behind them.
  bool whole_prompts = false;
};

struct NewSequence {
  SequenceId id = 0;            // unique among those that wait or run
  std::vector<TokenId> prompt;  // at least one token
  bool all_logits =
      false;  // logits of every row of the prompt: all of it is computed, whatever is cached
  bool all_states = false;  // hidden states of every row likewise; they take no logit rows
  uint64_t session = 0;     // whose request it is; 0: one of its own
};

// Rows of one sequence in a step. Spans are valid until apply(), remove() or the next plan().
struct Slice {
  SequenceId id = 0;
  std::span<const TokenId> tokens = {};  // one a row
  uint32_t n_past = 0;                   // tokens before them, already in the cache
  std::span<const PageId> pages = {};    // covers n_past + rows
  kv::Lease::StepStates states = {};     // with recurrent layers
  uint32_t first_logit_row = 0;  // logits (or hidden states, as the sequence's owner knows) are
                                 // wanted from this row of the slice on (its size: none)
  bool samples = false;          // the last row's logits choose the sequence's next token
  kv::CachedTokens cached = {};  // prompt tokens that were found at first admission
};

struct SliceResult {
  uint32_t n_rows = 0;  // how many of the slice's rows were computed; the others come again
  std::vector<TokenId>
      tokens;  // what follows, when the whole slice was computed and it samples: usually one
};

// Rules of a plan:
//  - every running reply gets its row; prompts share the rows that StepCost allows beside them;
//  - newcomers are admitted while places in the batch and memory that is really free last: those of
//  the session that has the fewest running first, then in order of arrival; nobody is overtaken
//  more than kMaxOvertaken times;
//  - of the prompts, the one with the fewest tokens left goes first; but a quarter of the rows is
//  the oldest one's, so that short newcomers hold up nobody for ever;
//  - one whose prompt a running sequence is just computing waits for it: two requests with the same
//  new prompt
//    compute it once;
//  - out of pages: the youngest running sequence gives its pages up and is computed again later.
//  The oldest one is
//    never chosen while others run, so it always gets on.
// Threads: one (the engine's).
class Scheduler {
 public:
  static constexpr uint32_t kMaxOvertaken = 32;

  // Requires: limits.max_rows >= max_batch, max_logit_rows > max_batch; cache outlives the
  // scheduler.
  Scheduler(const Limits& limits, kv::Cache* cache);

  // Asked before a running sequence has to give up its pages: someone whose pages the scheduler
  // does not know of gives up theirs. True: there is more memory now.
  void set_give_way(std::function<bool()> give_way) { give_way_ = std::move(give_way); }

  // Requires: the sequence never grows beyond cache.n_pages() pages.
  void add(NewSequence sequence);
  // Finished or cancelled; its pages are free at once, their content stays known. Unknown ids:
  // nothing happens.
  void remove(SequenceId id);

  // Never empty while any sequence waits or runs. Requires: the plan before was applied.
  std::span<const Slice> plan();
  // One result a slice, in the plan's order. step_ms: how long the step took; 0: no matter.
  void apply(std::span<const SliceResult> results, double step_ms = 0);

  uint32_t n_running() const { return static_cast<uint32_t>(running_.size()); }
  uint32_t n_waiting() const { return static_cast<uint32_t>(waiting_.size()); }
  uint64_t n_preemptions() const { return n_preemptions_; }
  const StepCost& cost() const { return cost_; }

  bool is_waiting(SequenceId id) const;
  bool is_running(SequenceId id) const;
  // The cache is given up, and what was asked of this scheduler with it.
  void give_up();

  Status check_integrity() const;

 private:
  struct Sequence {
    SequenceId id = 0;
    uint64_t arrival = 0;
    uint64_t session = 0;
    uint32_t n_overtaken = 0;     // by newcomers of other sessions
    std::vector<TokenId> tokens;  // prompt and reply
    uint32_t n_prompt = 0;
    uint32_t n_computed = 0;  // tokens whose KV is in the lease's pages
    kv::CachedTokens cached;
    bool admitted_before = false;
    bool all_logits = false, all_states = false;
    uint32_t n_given = 0;  // with either: rows of the prompt whose logits or states were given
    kv::Lease lease;       // running sequences only

    uint32_t n_left() const { return static_cast<uint32_t>(tokens.size()) - n_computed; }
    bool wants_all_rows() const { return (all_logits || all_states) && n_given < n_prompt; }
    bool is_reply() const { return n_left() == 1 && !wants_all_rows(); }
  };

  void plan_replies();
  void plan_prompts(uint32_t n_short_rows);
  void admit();
  size_t next_to_admit();
  bool try_admit(Sequence* sequence);
  void make_room();
  bool is_being_computed(const Sequence& sequence);
  void add_slice(Sequence* sequence, uint32_t n_rows);
  void add_prompt_slice(Sequence* sequence, uint32_t max_rows);
  void add_whole_prompt(Sequence* sequence);
  void begin_states();
  void preempt_youngest();
  void observe(double step_ms);

  Limits limits_;
  kv::Cache* cache_;
  std::function<bool()> give_way_;
  std::deque<Sequence> running_;  // both in order of arrival
  std::deque<Sequence> waiting_;
  std::vector<Slice> slices_;
  std::vector<Sequence*> prompts_;  // of the plan being made
  StepCost cost_;
  uint32_t rows_left_ = 0;  // for prompts, in the plan being made
  uint32_t all_logit_rows_left_ = 0;
  uint64_t next_arrival_ = 0;
  uint64_t n_preemptions_ = 0;
};

}  // namespace tempo9::sched
