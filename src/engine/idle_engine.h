// An engine whose model leaves memory when nobody has asked for a while, and comes back with the
// next request.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"

namespace tempo9::engine {

struct IdleEngineParts {
  std::unique_ptr<Engine> engine;                         // loaded
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;  // outlives what is unloaded
  uint32_t n_ids = 0;                                     // prompt token ids are below it
  std::function<Result<std::unique_ptr<Engine>>()> load;  // the same again
  Clock::Nanoseconds idle_time{0};                        // then its memory is given back
  std::unique_ptr<Clock> clock;
};

// What the model had in the prefix cache is kept if it is kept on disk. A reply's times count from
// its own submission: they hold the loading.
class IdleEngine final : public Engine {
 public:
  explicit IdleEngine(IdleEngineParts parts);
  ~IdleEngine() override;

  Result<RequestId> submit(GenerateRequest request, EventSink sink) override;
  void cancel(RequestId id) override;
  const ModelInfo& info() const override { return info_; }
  const tokenizer::Tokenizer& tokenizer() const override { return *parts_.tokenizer; }
  Stats stats() const override;
  std::vector<CacheReport> cache_reports() const override;
  CacheTotals cache_totals() const override;

 private:
  struct Waiting {
    RequestId id;
    GenerateRequest request;
    EventSink sink;
    Clock::Nanoseconds submitted;
  };

  void run();
  void unload(std::unique_lock<std::mutex>& lock);
  void load(std::unique_lock<std::mutex>& lock);
  Status pass_on(Waiting waiting);  // with mutex_ held and the engine loaded
  void ended(RequestId id);

  IdleEngineParts parts_;
  ModelInfo info_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All of it guarded by mutex_. parts_.engine is null unless is_loaded_.
  bool is_loaded_ = true;
  bool stopping_ = false;
  RequestId next_id_ = 1;
  std::map<RequestId, Waiting> waiting_;               // for the model, in order
  std::unordered_map<RequestId, RequestId> inner_id_;  // of those that the model has
  Clock::Nanoseconds idle_since_;
  Stats past_;  // of engines that were unloaded: the counters are sums
  CacheTotals past_cache_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace tempo9::engine
