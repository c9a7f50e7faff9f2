#include "sched/step_cost.h"

#include <algorithm>

namespace tempo9::sched {
namespace {

// Of the promised gap that a step may take by estimate: the rest is for steps that take longer than
// it, and for what happens between two steps.
constexpr double kShareOfGap = 0.85;
// A step without replies.
constexpr double kAloneMs = 1000;
constexpr uint32_t kMinRowsAlone = 64;
constexpr uint32_t kManyRows = 1u << 20;  // the scheduler's own limits hold

constexpr uint32_t kShortPrompt = 64;
// Rows beside replies against rows alone, as long as only those have been seen.
constexpr double kDearerBesideReplies = 1.3;

constexpr double kRise = 0.5, kFall = 0.1;
constexpr double kMostRise = 0.25;  // of the estimate, in a step

// Follows value, faster upwards. 0: nothing known yet.
void follow(double* estimate, double value, double rise) {
  if (*estimate == 0) {
    *estimate = value;
  } else if (value > *estimate) {
    *estimate += std::min(rise * (value - *estimate), kMostRise * *estimate);
  } else {
    *estimate += kFall * (value - *estimate);
  }
}

uint32_t rows_in(double ms, double row_ms) {
  return static_cast<uint32_t>(std::clamp(ms / row_ms, 1.0, double{kManyRows}));
}

}  // namespace

void StepCost::observe(uint32_t n_replies, uint32_t n_prompt, double ms) {
  if (n_replies > 0) n_since_long_ = n_prompt > rows_beside_replies() ? 0 : n_since_long_ + 1;
  if (n_replies > 0 && n_prompt > 0) first_rows_ = std::min(2 * first_rows_, kManyRows);
  if (ms <= 0) return;
  if (n_prompt == 0) {
    follow(&lone_ms_, ms, kFall);  // one slow step says little about the next
  } else if (n_replies == 0) {
    // A few rows cost as much as one: the weights are read once.
    if (n_prompt >= kMinRowsAlone) follow(&alone_row_ms_, ms / n_prompt, kRise);
  } else {
    const double added = std::max(ms - lone_ms_, 0.1 * ms);
    // The last few rows of a prompt say little about many.
    if (n_prompt >= kFirstRows / 2) follow(&row_ms_, added / n_prompt, kRise);
  }
}

double StepCost::bound_ms() const { return std::max(kGapMs, kGapSteps * lone_ms_); }

double StepCost::row_ms() const {
  return row_ms_ > 0 ? row_ms_ : kDearerBesideReplies * alone_row_ms_;
}

uint32_t StepCost::rows_beside_replies() const {
  if (row_ms() == 0) return std::min(first_rows_, 4 * kFirstRows);
  return rows_in(kShareOfGap * bound_ms() - lone_ms_, row_ms());
}

uint32_t StepCost::rows_of_short_prompt() const {
  return n_since_long_ < kStepsPerLong ? 0 : kShortPrompt;
}

uint32_t StepCost::rows_alone() const {
  if (alone_row_ms_ == 0) return kManyRows;
  return std::max(kMinRowsAlone, rows_in(kAloneMs, alone_row_ms_));
}

}  // namespace tempo9::sched
