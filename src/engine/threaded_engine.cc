#include "engine/threaded_engine.h"

#include <exception>
#include <utility>

#include "engine/random_bits.h"
#include "engine/validate.h"

namespace tempo9::engine {

ThreadedEngine::ThreadedEngine(EngineParts parts) : parts_(std::move(parts)) {
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
  T9_TRY(validate_request(request, parts_.info.max_length, parts_.n_ids));
  const RequestId id = next_id_++;
  // A seed that nobody gave is reported in the reply, so it fits a JSON reader's double.
  const uint64_t seed = request.sampling.seed.value_or(random_bits() >> 11);
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) {
      return make_error(ErrorCode::kInternal, "the engine has stopped: {}", failure_);
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

void ThreadedEngine::publish(const Stats& stats) {
  const std::lock_guard lock(mutex_);
  stats_ = stats;
}

void ThreadedEngine::submit_to(StepLoop* loop, Message* message) {
  Submission& submission = *message->submission;
  loop->submit(message->id, std::move(submission.request), submission.seed,
               std::move(submission.sink));
}

bool ThreadedEngine::receive(StepLoop* loop, bool must_wait,
                             std::optional<Clock::Nanoseconds> until) {
  std::vector<Message> messages;
  {
    std::unique_lock lock(mutex_);
    while (must_wait && inbox_.empty() && !stopping_) {
      if (!until) {
        changed_.wait(lock);
      } else if (parts_.clock->now() < *until) {
        parts_.clock->wait_until(lock, changed_, *until);
      } else {
        break;
      }
    }
    messages.swap(inbox_);
    if (stopping_) {
      inbox_.swap(messages);
      return false;
    }
  }
  for (Message& message : messages) {
    if (message.submission != nullptr) {
      submit_to(loop, &message);
    } else {
      loop->cancel(message.id);
    }
  }
  return true;
}

void ThreadedEngine::run_until_stopped(StepLoop* loop) {
  std::optional<Clock::Nanoseconds> due;
  while (receive(loop, loop->is_idle() || due.has_value(), loop->is_idle() ? std::nullopt : due)) {
    due.reset();
    if (!loop->is_idle()) {
      publish(loop->stats());  // a step may be long
      due = loop->step();
    }
    publish(loop->stats());
  }
}

void ThreadedEngine::run() {
  StepLoop loop(parts_.loop, parts_.tokenizer.get(), parts_.executor.get(), parts_.copier.get());
  Event::Finish finish{.reason = FinishReason::kCancelled};
  std::string failure;
  try {
    run_until_stopped(&loop);
    failure = "it was shut down";
  } catch (const std::exception& e) {
    failure = e.what();
    finish = {.reason = FinishReason::kError,
              .error = make_error(ErrorCode::kInternal, "the engine failed: {}", failure)};
  }
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    messages.swap(inbox_);
  }
  for (Message& message : messages) {
    if (message.submission != nullptr) {
      submit_to(&loop, &message);
    }
  }
  loop.end_all(finish);
  publish(loop.stats());
}

}  // namespace tempo9::engine
