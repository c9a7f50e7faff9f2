#include "base/refused_memory.h"

#include <time.h>

#include <chrono>
#include <exception>
#include <new>
#include <thread>

namespace tempo9 {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{2};
// Two refusals are of one allocation when the thread has hardly computed in between. Time on the
// clock does not tell: on a busy machine it goes by while nothing is done.
constexpr std::chrono::microseconds kOneAllocation{40};

// Made beforehand: when it is needed there is no memory for it.
std::exception_ptr refusal;
std::chrono::milliseconds patience{0};

// Processor time of this thread.
std::chrono::nanoseconds computed() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void wait_for_memory() {
  thread_local std::chrono::nanoseconds last{0};
  thread_local Steady::duration waited{0};
  if (computed() - last > kOneAllocation) waited = {};
  if (waited > patience) {
    waited = {};
    std::rethrow_exception(refusal);
  }
  const Steady::time_point begin = Steady::now();
  std::this_thread::sleep_for(kPause);
  waited += Steady::now() - begin;
  last = computed();
}

}  // namespace

void wait_when_memory_is_refused(std::chrono::milliseconds how_long) {
  patience = how_long;
  refusal = std::make_exception_ptr(std::bad_alloc());
  std::set_new_handler(wait_for_memory);
}

}  // namespace tempo9
