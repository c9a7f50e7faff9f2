#include "engine/idle_engine.h"

#include <malloc.h>

#include <exception>
#include <utility>

#include "engine/validate.h"

namespace tempo9::engine {
namespace {

void add_wait(double waited, Timing* timing) {
  for (double* time : {&timing->now, &timing->started, &timing->first_token}) {
    if (*time > 0) *time += waited;
  }
}

void add(const CacheTotals& more, CacheTotals* sum) {
  sum->asked += more.asked;
  sum->found.live += more.found.live;
  sum->found.ram += more.found.ram;
  sum->found.disk += more.found.disk;
  for (const auto& [cause, misses] : more.misses) {
    sum->misses[cause].n_prompts += misses.n_prompts;
    sum->misses[cause].n_tokens += misses.n_tokens;
  }
}

void end(const EventSink& sink, Event::Finish finish) {
  Event event;
  event.finish = std::move(finish);
  sink(std::move(event));
}

// Libraries throw when memory or threads run out.
Result<std::unique_ptr<Engine>> load_or_error(const IdleEngineParts& parts) {
  try {
    return parts.load();
  } catch (const std::exception& exception) {
    return make_error(ErrorCode::kResourceExhausted, "the model cannot be loaded again now: {}",
                      exception.what());
  } catch (...) {
    return make_error(ErrorCode::kResourceExhausted, "the model cannot be loaded again now");
  }
}

}  // namespace

IdleEngine::IdleEngine(IdleEngineParts parts)
    : parts_(std::move(parts)),
      info_(parts_.engine->info()),
      idle_since_(parts_.clock->now()),
      thread_([this] { run(); }) {}

IdleEngine::~IdleEngine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  parts_.engine.reset();  // cancels what runs
  for (const auto& [id, waiting] : waiting_) {
    end(waiting.sink, {.reason = FinishReason::kCancelled});
  }
}

Result<RequestId> IdleEngine::submit(GenerateRequest request, EventSink sink) {
  T9_TRY(validate_request(request, info_, parts_.n_ids));
  const std::lock_guard lock(mutex_);
  const RequestId id = next_id_++;
  Waiting waiting{id, std::move(request), std::move(sink), parts_.clock->now()};
  if (is_loaded_) {
    T9_TRY(pass_on(std::move(waiting)));
  } else {
    waiting_.emplace(id, std::move(waiting));
    changed_.notify_all();
  }
  return id;
}

Status IdleEngine::pass_on(Waiting waiting) {
  const double waited = to_seconds(parts_.clock->now() - waiting.submitted);
  // The last event waits for mutex_, and so finds what is written below.
  T9_TRY(const RequestId inner,
         parts_.engine->submit(
             std::move(waiting.request),
             [this, id = waiting.id, waited, sink = std::move(waiting.sink)](Event&& event) {
               add_wait(waited, &event.usage.timing);
               if (event.finish) ended(id);
               sink(std::move(event));
             }));
  inner_id_.emplace(waiting.id, inner);
  return {};
}

void IdleEngine::ended(RequestId id) {
  const std::lock_guard lock(mutex_);
  inner_id_.erase(id);
  if (!inner_id_.empty()) return;
  idle_since_ = parts_.clock->now();
  changed_.notify_all();
}

void IdleEngine::cancel(RequestId id) {
  EventSink sink;
  {
    const std::lock_guard lock(mutex_);
    if (const auto inner = inner_id_.find(id); inner != inner_id_.end()) {
      parts_.engine->cancel(inner->second);
    } else if (auto waiting = waiting_.extract(id)) {
      sink = std::move(waiting.mapped().sink);
    }
  }
  if (sink) end(sink, {.reason = FinishReason::kCancelled});
}

Stats IdleEngine::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats;
  if (is_loaded_) {
    stats = parts_.engine->stats();
  } else {
    stats.kv_bytes = past_.kv_bytes;
    stats.is_loaded = false;
  }
  stats.n_waiting += static_cast<uint32_t>(waiting_.size());
  stats.n_steps += past_.n_steps;
  stats.n_preemptions += past_.n_preemptions;
  return stats;
}

std::vector<CacheReport> IdleEngine::cache_reports() const {
  const std::lock_guard lock(mutex_);
  return is_loaded_ ? parts_.engine->cache_reports() : std::vector<CacheReport>();
}

CacheTotals IdleEngine::cache_totals() const {
  const std::lock_guard lock(mutex_);
  CacheTotals totals = past_cache_;
  if (is_loaded_) add(parts_.engine->cache_totals(), &totals);
  return totals;
}

void IdleEngine::unload(std::unique_lock<std::mutex>& lock) {
  const Stats stats = parts_.engine->stats();
  past_.kv_bytes = stats.kv_bytes;
  past_.n_steps += stats.n_steps;
  past_.n_preemptions += stats.n_preemptions;
  add(parts_.engine->cache_totals(), &past_cache_);
  is_loaded_ = false;
  std::unique_ptr<Engine> engine = std::move(parts_.engine);
  lock.unlock();
  engine.reset();
  ::malloc_trim(0);  // what the model freed is of no use to this process
  lock.lock();
}

void IdleEngine::load(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  Result<std::unique_ptr<Engine>> engine = load_or_error(parts_);
  lock.lock();
  std::map<RequestId, Waiting> waiting;
  waiting.swap(waiting_);
  std::vector<std::pair<EventSink, Error>> failed;
  if (engine) {
    parts_.engine = *std::move(engine);
    is_loaded_ = true;
    idle_since_ = parts_.clock->now();
  }
  for (auto& [id, request] : waiting) {
    EventSink sink = request.sink;
    if (!is_loaded_) {
      failed.emplace_back(std::move(sink), engine.error());
    } else if (const Status passed = pass_on(std::move(request)); !passed) {
      failed.emplace_back(std::move(sink), passed.error());
    }
  }
  lock.unlock();
  for (const auto& [sink, error] : failed) {
    end(sink, {.reason = FinishReason::kError, .error = error});
  }
  lock.lock();
}

void IdleEngine::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!is_loaded_) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else {
        load(lock);
      }
    } else if (!inner_id_.empty()) {
      changed_.wait(lock);
    } else if (const auto due = idle_since_ + parts_.idle_time; parts_.clock->now() < due) {
      parts_.clock->wait_until(lock, changed_, due);
    } else {
      unload(lock);
    }
  }
}

}  // namespace tempo9::engine
