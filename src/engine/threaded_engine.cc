#include "engine/threaded_engine.h"

#include <exception>
#include <new>
#include <utility>

#include "engine/random_bits.h"
#include "engine/validate.h"

namespace tempo9::engine {
namespace {

// Pages that are not on disk when the engine stops are written for this long. Replies had their
// time before (cli/serve.cc), and all is gone in 10 s.
constexpr std::chrono::milliseconds kDiskDrainTime{2'500};
// How often an idle engine that holds cached pages looks whether others need the memory.
constexpr std::chrono::seconds kMemoryLookTime{30};
constexpr size_t kReports = 32;

}  // namespace

ThreadedEngine::ThreadedEngine(EngineParts parts) : parts_(std::move(parts)) {
  parts_.loop.clock = parts_.clock.get();
  parts_.loop.on_report = [this](const CacheReport& report) { remember(report); };
  thread_ = std::jthread([this] { run(); });
}

ThreadedEngine::~ThreadedEngine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  parts_.executor->interrupt();
  changed_.notify_all();
}

Result<RequestId> ThreadedEngine::submit(GenerateRequest request, EventSink sink) {
  T9_TRY(validate_request(request, parts_.info, parts_.n_ids));
  const RequestId id = next_id_++;
  // A seed that nobody gave is reported in the reply, so it fits a JSON reader's double.
  const uint64_t seed = request.sampling.seed.value_or(random_bits() >> 11);
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_) {
      return make_error(ErrorCode::kResourceExhausted, "the engine has stopped: {}",
                        stats_.has_failed ? failure_ : "it was shut down");
    }
    inbox_.push_back(
        {id, std::make_unique<Submission>(Submission{std::move(request), seed, std::move(sink)})});
  }
  changed_.notify_all();
  return id;
}

void ThreadedEngine::cancel(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back({id, nullptr});
  }
  changed_.notify_all();
}

Stats ThreadedEngine::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  for (const Message& message : inbox_) {
    stats.n_waiting += message.submission != nullptr ? 1 : 0;
  }
  return stats;
}

std::vector<CacheReport> ThreadedEngine::cache_reports() const {
  const std::lock_guard lock(mutex_);
  return {reports_.begin(), reports_.end()};
}

CacheTotals ThreadedEngine::cache_totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

// A report is worth less than the reply that it is about.
void ThreadedEngine::remember(const CacheReport& report) {
  const std::lock_guard lock(mutex_);
  try {
    reports_.push_back(report);
  } catch (const std::bad_alloc&) {
    return;
  }
  if (reports_.size() > kReports) reports_.pop_front();
  totals_.asked += report.prompt_tokens;
  totals_.found.live += report.cached.live;
  totals_.found.ram += report.cached.ram;
  totals_.found.disk += report.cached.disk;
  if (report.cause.empty()) return;
  CacheTotals::Misses& misses = totals_.misses[report.cause];
  ++misses.n_prompts;
  misses.n_tokens += report.prompt_tokens - report.cached.total();
}

void ThreadedEngine::publish(const Stats& stats) {
  const std::lock_guard lock(mutex_);
  const bool has_failed = stats_.has_failed;
  stats_ = stats;
  stats_.has_failed = has_failed;
}

void ThreadedEngine::fail(const char* what) {
  const std::lock_guard lock(mutex_);
  stats_.has_failed = true;
  try {
    failure_ = what;
  } catch (const std::bad_alloc&) {
    // It ends without words.
  }
}

void ThreadedEngine::pass_on(StepLoop* loop) {
  for (Message& message : taken_) {
    if (const auto submission = std::move(message.submission)) {
      loop->submit(message.id, std::move(submission->request), submission->seed,
                   std::move(submission->sink));
    } else {
      loop->cancel(message.id);
    }
  }
  taken_.clear();
}

void ThreadedEngine::end_messages(std::vector<Message>* messages, const Event::Finish& finish) {
  for (Message& message : *messages) {
    if (message.submission != nullptr) refuse(message.submission->sink, finish);
  }
  messages->clear();
}

bool ThreadedEngine::receive(StepLoop* loop, bool must_wait,
                             std::optional<Clock::Nanoseconds> until) {
  {
    std::unique_lock lock(mutex_);
    const Clock::Nanoseconds deadline = until.value_or(StepLoop::kUntilWoken);
    while (must_wait && inbox_.empty() && !stopping_ && !disk_changed_) {
      if (deadline == StepLoop::kUntilWoken) {
        changed_.wait(lock);
      } else if (parts_.clock->now() < deadline) {
        parts_.clock->wait_until(lock, changed_, deadline);
      } else {
        break;
      }
    }
    disk_changed_ = false;
    if (stopping_) return false;
    taken_.swap(inbox_);
  }
  pass_on(loop);
  return true;
}

void ThreadedEngine::run_until_stopped(StepLoop* loop) {
  std::optional<Clock::Nanoseconds> due;
  while (receive(loop, loop->is_idle() ? !loop->is_restless() : due.has_value(), due)) {
    due.reset();
    if (!loop->is_idle()) {
      publish(loop->stats());  // a step may be long
      due = loop->step();
    } else {
      loop->rest();
    }
    if (loop->is_idle()) {
      due.reset();
      if (loop->may_give_back()) {
        due = parts_.clock->now() + kMemoryLookTime;
      }
    }
    publish(loop->stats());
  }
}

void ThreadedEngine::run() {
  StepLoop loop(parts_.loop, parts_.tokenizer.get(), parts_.executor.get(), parts_.copier.get());
  const auto disk_changed = [this] {
    {
      const std::lock_guard lock(mutex_);
      disk_changed_ = true;
    }
    changed_.notify_all();
  };
  if (parts_.disk) parts_.disk->set_changed(disk_changed);
  if (parts_.disk_states) parts_.disk_states->set_changed(disk_changed);
  Event::Finish finish{.reason = FinishReason::kCancelled};
  bool has_failed = false;
  try {
    run_until_stopped(&loop);
  } catch (const std::exception& e) {
    has_failed = true;
    finish.reason = FinishReason::kError;
    fail(e.what());
  } catch (...) {
    has_failed = true;
    finish.reason = FinishReason::kError;
    fail("what was thrown is unknown");
  }
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    messages.swap(inbox_);
  }
  end_messages(&taken_, finish);
  end_messages(&messages, finish);
  loop.end_all(finish);
  publish(loop.stats());
  if (has_failed && parts_.on_failure) parts_.on_failure(failure_);
  if (parts_.disk) {
    loop.drain_to_disk(std::chrono::steady_clock::now() + kDiskDrainTime);
    parts_.disk->set_changed(nullptr);
    if (parts_.disk_states) parts_.disk_states->set_changed(nullptr);
  }
}

}  // namespace tempo9::engine
