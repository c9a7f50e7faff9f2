// The engine without its thread: requests in, steps, events out. Tests drive it step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/reply.h"
#include "kv/cache.h"
#include "sched/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

struct StepLoopOptions {
  sched::Limits limits;
  uint32_t n_pages = 0;     // hold at least max_length tokens
  uint32_t max_length = 0;  // tokens a request may hold
  kv::HashKey cache_secret = {};
};

// Threads: one at a time. Sinks are called inside submit, cancel and step.
class StepLoop {
 public:
  // All three must outlive it.
  StepLoop(const StepLoopOptions& options, const tokenizer::Tokenizer* tokenizer,
           Executor* executor, kv::PageCopier* copier);

  // Requires: a request that validate_request passed, a new id.
  void submit(RequestId id, GenerateRequest request, uint64_t seed, EventSink sink);
  // Unknown or ended ids: nothing happens.
  void cancel(RequestId id);
  void end_all(const Event::Finish& finish);

  bool is_idle() const { return active_.empty(); }
  // One step. A time when nothing could be done before it, else none. Requires: not idle.
  std::optional<Clock::Nanoseconds> step();

  Stats stats() const;
  Status check_integrity() const { return scheduler_.check_integrity(); }
  const sched::Scheduler& scheduler() const { return scheduler_; }

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
    uint32_t n_cached = 0;
    uint32_t prompt_done = 0;
  };

  // What the slice's outcome means for its request: an event, if there is something to say.
  std::optional<Event> event_of(Active* active, const sched::Slice& slice, SliceOutcome outcome);
  void send(Active* active, Event event);
  void fail_step(std::span<const sched::Slice> slices, const Error& error);
  void drop(RequestId id);

  StepLoopOptions options_;
  const tokenizer::Tokenizer* tokenizer_;
  Executor* executor_;
  kv::Cache cache_;
  sched::Scheduler scheduler_;
  std::unordered_map<RequestId, std::unique_ptr<Active>> active_;
  uint64_t n_steps_ = 0;
};

}  // namespace tempo9::engine
