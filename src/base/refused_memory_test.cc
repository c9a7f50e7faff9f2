#include "base/refused_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>

namespace tempo9 {
namespace {

TEST(RefusedMemory, IsTriedAgainForAWhileAndThenGivenUp) {
  const std::new_handler before = std::get_new_handler();
  wait_when_memory_is_refused(std::chrono::milliseconds(100));
  const std::new_handler handler = std::get_new_handler();
  std::set_new_handler(before);
  ASSERT_NE(handler, before);
  // As operator new does, for an allocation that never succeeds.
  for (int time = 0; time < 2; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    int n_tries = 0;
    EXPECT_THROW(
        while (true) {
          ++n_tries;
          handler();
        },
        std::bad_alloc);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GT(n_tries, 1);
    EXPECT_GT(took, std::chrono::milliseconds(95));
    EXPECT_LT(took, std::chrono::seconds(20));
    if (time == 0) handler();  // another allocation has time of its own
  }
}

}  // namespace
}  // namespace tempo9
