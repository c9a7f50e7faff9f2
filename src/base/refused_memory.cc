#include "base/refused_memory.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <thread>

namespace tempo9 {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{2};
// Whether two refusals are of one allocation cannot be known. What was waited is forgotten at this
// share of the time that goes by: refusals now and then never add up, those of one allocation do.
constexpr int kForgetting = 5;

// Made beforehand: when it is needed there is no memory for it.
std::exception_ptr refusal;
std::chrono::milliseconds patience{0};

void wait_for_memory() {
  thread_local Steady::time_point last;
  thread_local Steady::duration waited{0};
  const Steady::time_point now = Steady::now();
  waited = std::max(Steady::duration{0}, waited - (now - last) / kForgetting);
  if (waited > patience) {
    waited = {};
    std::rethrow_exception(refusal);
  }
  std::this_thread::sleep_for(kPause);
  last = Steady::now();
  waited += last - now;
}

}  // namespace

void wait_when_memory_is_refused(std::chrono::milliseconds how_long) {
  patience = how_long;
  refusal = std::make_exception_ptr(std::bad_alloc());
  std::set_new_handler(wait_for_memory);
}

}  // namespace tempo9
