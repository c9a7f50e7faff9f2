// The engine without its thread: requests in, steps, events out. Tests drive it step by step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/cache_report.h"
#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/offload.h"
#include "engine/reply.h"
#include "kv/cache.h"
#include "sched/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

struct StepLoopOptions {
  sched::Limits limits;
  kv::CacheOptions cache;   // holds at least max_length tokens
  uint32_t max_length = 0;  // tokens a request may hold
  kv::HashKey cache_secret = {};
  // Pages on disk; null: none. Both outlive the loop.
  kv::DiskTier* disk = nullptr;
  kv::DiskTier* disk_states = nullptr;  // likewise, of recurrent layers
  ops::Backend* backend = nullptr;      // whose pages they are
  // Bytes that the process may still take; below 0 so many should go back. Pages grow by no more,
  // but for those of one request; free ones go back first. Null: the cache's own limit is all.
  std::function<int64_t()> spare_memory = nullptr;
  // Told of each request when its prompt has been looked up.
  std::function<void(const CacheReport&)> on_report = nullptr;
  const Clock* clock = nullptr;  // tells how long things take; null: slices are not sized by time
};

// The only event of a request that is not begun. What the sink throws is passed over.
void refuse(const EventSink& sink, Event::Finish finish);

// Threads: one at a time. Sinks are called inside submit, cancel and step.
class StepLoop {
 public:
  // All three must outlive it.
  StepLoop(const StepLoopOptions& options, const tokenizer::Tokenizer* tokenizer,
           Executor* executor, kv::PageCopier* copier);

  // What is thrown here, in step() or by a sink (there is no memory, most likely) ends the requests
  // concerned with an error: the new one, those that run, the sink's own. The others go on; when
  // pages can no longer be trusted, all end and the cache begins anew. What is thrown nevertheless
  // is the end of the loop.

  // Requires: a request that validate_request passed, a new id.
  void submit(RequestId id, GenerateRequest request, uint64_t seed, EventSink sink);
  // Unknown or ended ids: nothing happens.
  void cancel(RequestId id);
  void end_all(const Event::Finish& finish);

  bool is_idle() const { return active_.empty(); }
  // A step returned this: nothing can be done before the disk has answered.
  static constexpr Clock::Nanoseconds kUntilWoken = Clock::Nanoseconds::max();
  // One step. A time when nothing could be done before it, else none. Requires: not idle.
  std::optional<Clock::Nanoseconds> step();
  // Between requests: hands on what is to be written to disk, gives memory back.
  void rest();
  // rest() would have something to do at once; and in a while.
  bool is_restless() const { return pages_->offload && pages_->offload->can_hand_on(); }
  bool may_give_back() const { return options_.spare_memory && pages_->cache.n_warm_pages() > 0; }
  // Writes what is computed and not on disk yet, until then at most.
  void drain_to_disk(std::chrono::steady_clock::time_point until);

  Stats stats() const;
  Status check_integrity() const;
  const sched::Scheduler& scheduler() const { return pages_->scheduler; }

 private:
  struct Active {
    Active(GenerateRequest r, uint32_t max_new_tokens, const tokenizer::Tokenizer& tokenizer)
        : request(std::move(r)),
          reply(request, max_new_tokens, tokenizer),
          max_new(max_new_tokens) {}
    GenerateRequest request;
    Reply reply;
    EventSink sink;
    uint64_t seed = 0;
    uint32_t max_new = 0;
    std::string format;
    std::vector<TokenInfo> prompt_infos;  // with prompt_logprobs, as far as the prompt is read
    kv::CachedTokens cached;
    bool looked_up = false;
    std::vector<TokenId> output;
    std::shared_ptr<const CacheReport> report;
    uint32_t prompt_done = 0;
    Clock::Nanoseconds submitted{0};
    Timing timing;
  };

  // What the slice's outcome means for its request: an event, if there is something to say.
  std::optional<Event> event_of(Active* active, const sched::Slice& slice, SliceOutcome outcome);
  bool send(Active* active, Event event);  // false: the sink threw
  void send_or_end(RequestId id, Event event);
  void end_request(RequestId id, const Event::Finish& finish, bool is_remembered = false);
  void fail_step(std::span<const sched::Slice> slices, const Error& error);
  void begin_request(RequestId id);
  std::optional<Clock::Nanoseconds> run_step();
  std::optional<Clock::Nanoseconds> compute(std::span<const sched::Slice> slices);
  void recover(const Error& error);
  void start_over(const Error& error);
  void drop(RequestId id);
  void schedule(RequestId id);
  void look_at_memory();
  void remember(Active* active);
  void report_lookup(RequestId id, Active* active);
  Clock::Nanoseconds now() const {
    return options_.clock != nullptr ? options_.clock->now() : Clock::Nanoseconds{0};
  }

  StepLoopOptions options_;
  const tokenizer::Tokenizer* tokenizer_;
  Executor* executor_;
  // All that knows of pages, and is made anew when it is no longer sound.
  struct Pages {
    Pages(const StepLoopOptions& options, kv::PageCopier* copier);
    kv::Cache cache;
    sched::Scheduler scheduler;
    std::optional<Offload> offload;
  };
  kv::PageCopier* copier_;
  std::unique_ptr<Pages> pages_;
  CacheReporter reporter_;
  std::unordered_map<RequestId, std::unique_ptr<Active>> active_;
  uint64_t n_steps_ = 0;
  uint64_t n_preemptions_before_ = 0;  // by schedulers that were given up
  uint64_t resident_at_look_ = 0;      // of the cache, when the memory was last looked at
};

}  // namespace tempo9::engine
