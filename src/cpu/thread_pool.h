// Threads that work for one step: a caller and n - 1 workers take chunks of a job until none is
// left. Waiting spins for a moment and then sleeps, so that a busy machine slows us in proportion
// and idle costs nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tempo9::cpu {

class ThreadPool {
 public:
  // on_start runs first in every worker (not in the caller's thread).
  ThreadPool(uint32_t n_threads, void (*on_start)());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t size() const { return n_threads_; }

  // Calls fn(begin, end, thread) over [0, n_items) in chunks of grain items; returns when all are
  // done. thread is in [0, size()) and never runs twice at once. One caller at a time. n_items <
  // 2^24.
  template <typename Fn>
  void run(uint32_t n_items, uint32_t grain, Fn&& fn) {
    run_job(n_items, grain, &fn, [](void* context, uint32_t begin, uint32_t end, uint32_t thread) {
      (*static_cast<std::remove_reference_t<Fn>*>(context))(begin, end, thread);
    });
  }

 private:
  using Call = void (*)(void*, uint32_t, uint32_t, uint32_t);
  void run_job(uint32_t n_items, uint32_t grain, void* context, Call call);
  void work(uint32_t thread);
  void worker_main(uint32_t thread);

  // One word says which job is on and how far it has been handed out: a worker that comes late,
  // even into the next job, claims either a chunk of the job that is on or nothing.  | job 16 |
  // n_items 24 | next 24 |
  std::atomic<uint64_t> state_{0};
  std::atomic<uint32_t> n_done_{0};
  std::atomic<bool> stop_{false};
  // Written between jobs only; published by state_.
  void* context_ = nullptr;
  Call call_ = nullptr;
  std::atomic<uint32_t> grain_{
      1};  // atomic: a late worker may read it as the next job is set up (its claim then fails)

  uint32_t n_threads_;
  std::vector<std::thread> workers_;
};

}  // namespace tempo9::cpu
