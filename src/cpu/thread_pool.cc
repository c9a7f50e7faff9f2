#include "cpu/thread_pool.h"

#include <emmintrin.h>

#include <algorithm>

#include "base/check.h"

namespace tempo9::cpu {
namespace {

constexpr uint64_t kFieldMask = (1u << 24) - 1;
constexpr int kSpins =
    2000;  // some tens of microseconds: longer than the gap between two jobs of a step

uint64_t pack(uint64_t job, uint64_t n_items, uint64_t next) {
  return job << 48 | n_items << 24 | next;
}

// Waits until value differs from old: spins, then sleeps.
template <typename T>
void wait_while_equal(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    _mm_pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(uint32_t n_threads, void (*on_start)())
    : n_threads_(std::max(n_threads, 1u)) {
  for (uint32_t thread = 1; thread < n_threads_; ++thread) {
    workers_.emplace_back([this, thread, on_start] {
      on_start();
      worker_main(thread);
    });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  state_.store(pack((state_.load() >> 48) + 1, 0, 0), std::memory_order_release);
  state_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_job(uint32_t n_items, uint32_t grain, void* context, Call call) {
  if (n_items == 0) return;
  grain = std::max(grain, 1u);
  if (n_threads_ == 1 || n_items <= grain) {
    call(context, 0, n_items, 0);
    return;
  }
  T9_CHECK(n_items < kFieldMask);
  context_ = context;
  call_ = call;
  grain_.store(grain, std::memory_order_relaxed);
  n_done_.store(0, std::memory_order_relaxed);
  state_.store(pack((state_.load(std::memory_order_relaxed) >> 48) + 1, n_items, 0),
               std::memory_order_release);
  state_.notify_all();
  work(0);
  for (uint32_t done = n_done_.load(std::memory_order_acquire); done < n_items;
       done = n_done_.load(std::memory_order_acquire)) {
    wait_while_equal(n_done_, done);
  }
}

void ThreadPool::work(uint32_t thread) {
  uint64_t state = state_.load(std::memory_order_acquire);
  while (true) {
    const auto n_items = static_cast<uint32_t>(state >> 24 & kFieldMask);
    const auto begin = static_cast<uint32_t>(state & kFieldMask);
    if (begin >= n_items) return;
    const uint32_t end = std::min(begin + grain_.load(std::memory_order_relaxed), n_items);
    if (!state_.compare_exchange_weak(state, (state & ~kFieldMask) | end,
                                      std::memory_order_acq_rel))
      continue;
    call_(context_, begin, end, thread);
    if (n_done_.fetch_add(end - begin, std::memory_order_acq_rel) + (end - begin) == n_items)
      n_done_.notify_one();
    state = state_.load(std::memory_order_acquire);
  }
}

void ThreadPool::worker_main(uint32_t thread) {
  uint64_t seen = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    wait_while_equal(state_, seen);
    work(thread);
    seen = state_.load(std::memory_order_acquire);
    // Chunks left only if another job began meanwhile.
    if ((seen & kFieldMask) < (seen >> 24 & kFieldMask)) seen = ~uint64_t{0};
  }
}

}  // namespace tempo9::cpu
