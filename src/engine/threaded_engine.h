// The Engine: a StepLoop on a thread of its own, and the messages to it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/step_loop.h"

namespace tempo9::engine {

// Everything that an engine is made of. In order: what is lower may point to what is above it.
struct EngineParts {
  ModelInfo info;
  std::vector<std::string> files;  // of the model: all shards
  uint32_t n_ids = 0;              // prompt token ids are below it
  StepLoopOptions loop;
  std::unique_ptr<Clock> clock;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<kv::DiskTier> disk;         // null: none; loop.disk points to it
  std::unique_ptr<kv::DiskTier> disk_states;  // likewise
  std::unique_ptr<Executor> executor;
  std::unique_ptr<kv::PageCopier> copier;
  std::function<void(const std::string&)> on_failure = nullptr;  // as in EngineOptions
};

// While no request is in flight the thread sleeps.
class ThreadedEngine final : public Engine {
 public:
  explicit ThreadedEngine(EngineParts parts);
  ~ThreadedEngine() override;

  Result<RequestId> submit(GenerateRequest request, EventSink sink) override;
  void cancel(RequestId id) override;
  const ModelInfo& info() const override { return parts_.info; }
  const tokenizer::Tokenizer& tokenizer() const override { return *parts_.tokenizer; }
  Stats stats() const override;
  std::vector<CacheReport> cache_reports() const override;
  CacheTotals cache_totals() const override;

 private:
  struct Submission {
    GenerateRequest request;
    uint64_t seed;
    EventSink sink;
  };
  struct Message {
    RequestId id;
    std::unique_ptr<Submission> submission;  // null: a cancellation
  };

  void run();
  void pass_on(StepLoop* loop);
  void end_messages(std::vector<Message>* messages, const Event::Finish& finish);
  void run_until_stopped(StepLoop* loop);
  // Waits until there is a message, or until: a due time, or for ever (none). False: the engine
  // stops.
  bool receive(StepLoop* loop, bool must_wait, std::optional<Clock::Nanoseconds> until);
  void publish(const Stats& stats);
  void remember(const CacheReport& report);
  void fail(const char* what);

  EngineParts parts_;
  std::atomic<RequestId> next_id_{1};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> inbox_;       // guarded by mutex_
  std::vector<Message> taken_;       // the engine's thread: from the inbox, not all passed on yet
  bool stopping_ = false;            // guarded by mutex_
  bool disk_changed_ = false;        // guarded by mutex_
  bool has_ended_ = false;           // guarded by mutex_; the thread takes no more messages
  std::string failure_;              // guarded by mutex_; why, with stats_.has_failed
  Stats stats_;                      // guarded by mutex_
  std::deque<CacheReport> reports_;  // guarded by mutex_; oldest first
  CacheTotals totals_;               // guarded by mutex_
  std::jthread thread_;              // last: it uses all of the above
};

}  // namespace tempo9::engine
