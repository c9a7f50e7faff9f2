// What a step costs, learnt while running: so that a slice of a prompt beside running replies is as
// large as the promised gap between two tokens allows, on any model and machine.
#pragma once

#include <cstdint>

namespace tempo9::sched {

// The promise: 99 of 100 gaps between two tokens of a reply last at most this long, or three times
// a step without prompts when that is longer.
inline constexpr double kGapMs = 120;
inline constexpr double kGapSteps = 3;

// Two numbers: a step of replies alone, and what each row of a prompt adds to it. The second
// follows slow steps sooner than fast ones, which makes it an upper estimate, but no single step
// far: a machine that paused says nothing about the next. Pure: time is told.
class StepCost {
 public:
  // A step of n_replies rows of replies and n_prompt rows of prompts took ms. Not positive: its
  // time says nothing (script mode).
  void observe(uint32_t n_replies, uint32_t n_prompt, double ms);

  // Rows of prompts to take beside replies. Small at first and doubling where no row's cost is
  // known yet; at least 1, or nothing would ever be read on a machine that is too slow for the
  // promise.
  uint32_t rows_beside_replies() const;
  // As many of one short prompt may be taken in spite of the promise, which leaves one gap in 100
  // free: what is sent behind a few words is waited for by somebody. 0: not now.
  uint32_t rows_of_short_prompt() const;
  // Rows of prompts to take when no reply is running: newcomers and cancellations wait for the
  // step.
  uint32_t rows_alone() const;

  double bound_ms() const;  // the promise, in ms
  double lone_ms() const { return lone_ms_; }

 private:
  double row_ms() const;

  double lone_ms_ = 0;  // 0: not known yet
  double row_ms_ = 0;
  double alone_row_ms_ = 0;  // in steps without replies, where rows are cheaper
  static constexpr uint32_t kFirstRows = 16;
  uint32_t first_rows_ = kFirstRows;
  static constexpr uint32_t kStepsPerLong = 100;
  uint32_t n_since_long_ = kStepsPerLong;  // steps with replies
};

}  // namespace tempo9::sched
