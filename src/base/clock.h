// Time as an interface, so that tests set it instead of sleeping.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tempo9 {

class Clock {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  virtual ~Clock() = default;

  // Monotonic, from an arbitrary start. Any thread.
  virtual Nanoseconds now() const = 0;
  // Sleeps until `changed` is notified or now() >= deadline; may wake early. Requires: lock is
  // held.
  virtual void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                          Nanoseconds deadline) = 0;
};

class SteadyClock final : public Clock {
 public:
  Nanoseconds now() const override {
    return std::chrono::duration_cast<Nanoseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  Nanoseconds deadline) override {
    changed.wait_until(
        lock, std::chrono::steady_clock::time_point(
                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(deadline)));
  }
};

inline double to_seconds(Clock::Nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace tempo9
