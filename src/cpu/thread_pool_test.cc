#include "cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tempo9::cpu {
namespace {

TEST(ThreadPool, EveryItemRunsOnceInEveryJob) {
  for (const uint32_t n_threads : {1u, 2u, 5u}) {
    ThreadPool pool(n_threads, [] {});
    for (uint32_t job = 0; job < 2000; ++job) {
      const uint32_t n = job % 97;
      std::vector<int> hits(n);
      std::vector<std::atomic<int>> busy(n_threads);
      pool.run(n, 1 + job % 5, [&](uint32_t begin, uint32_t end, uint32_t thread) {
        ASSERT_LT(thread, n_threads);
        ASSERT_EQ(busy[thread]++, 0);
        for (uint32_t i = begin; i < end; ++i) ++hits[i];
        --busy[thread];
      });
      ASSERT_EQ(hits, std::vector<int>(n, 1)) << "job " << job << " of " << n_threads << " threads";
    }
  }
}

TEST(ThreadPool, WorkersThatSleptWakeForTheNextJob) {
  ThreadPool pool(3, [] {});
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(2));  // past the spinning: the workers sleep
    std::atomic<uint32_t> sum{0};
    pool.run(100, 1, [&](uint32_t begin, uint32_t, uint32_t) { sum += begin; });
    EXPECT_EQ(sum, 4950u);
  }
}

}  // namespace
}  // namespace tempo9::cpu
