// For tests: time that passes only when told to, or whenever someone waits for it.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace tempo9::engine::testing {

class FakeClock final : public Clock {
 public:
  // auto_advance: waiting for a time makes it that time. Otherwise waiting lasts until notified.
  explicit FakeClock(bool auto_advance) : auto_advance_(auto_advance) {}

  Nanoseconds now() const override { return Nanoseconds(now_ns_.load()); }
  void set(Nanoseconds now) { now_ns_ = now.count(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  Nanoseconds deadline) override {
    if (auto_advance_) {
      set(std::max(now(), deadline));
    } else {
      changed.wait(lock);
    }
  }

 private:
  bool auto_advance_;
  std::atomic<int64_t> now_ns_{0};
};

}  // namespace tempo9::engine::testing
