// Limits::whole_prompts: for models whose rows see what is behind them.
#include <gtest/gtest.h>

#include <numeric>

#include "kv/testing/fake_arena.h"
#include "sched/scheduler.h"

namespace tempo9::sched {
namespace {

class WholePrompts {
 public:
  explicit WholePrompts(uint32_t n_pages, uint32_t max_rows)
      : arena_(n_pages, {kv::PageClass{}}),
        cache_(n_pages, {1, 2}, &arena_),
        scheduler_({.max_batch = 4, .max_rows = max_rows, .whole_prompts = true}, &cache_) {}

  void add(SequenceId id, size_t n_tokens) {
    std::vector<TokenId> prompt(n_tokens);
    std::iota(prompt.begin(), prompt.end(), 0);
    scheduler_.add({.id = id, .prompt = std::move(prompt), .all_states = true});
    ++n_left_;
  }
  // The ids of a step, whose prompts are then finished.
  std::vector<SequenceId> step() {
    std::vector<SequenceId> ids;
    std::vector<SliceResult> results;
    for (const Slice& slice : scheduler_.plan()) {
      ids.push_back(slice.id);
      EXPECT_TRUE(slice.n_past == 0 && slice.first_logit_row == 0 && slice.samples);
      EXPECT_EQ(slice.cached.total(), 0u);
      EXPECT_GE(slice.pages.size() * kv::kPageTokens, slice.tokens.size());
      results.push_back({.n_rows = static_cast<uint32_t>(slice.tokens.size()), .tokens = {}});
    }
    scheduler_.apply(results);
    for (const SequenceId id : ids) scheduler_.remove(id);
    n_left_ -= ids.size();
    const Status status = scheduler_.check_integrity();
    EXPECT_TRUE(status) << status.error().message;
    return ids;
  }
  size_t n_left() const { return n_left_; }

 private:
  kv::testing::FakeArena arena_;
  kv::Cache cache_;
  Scheduler scheduler_;
  size_t n_left_ = 0;
};

using Ids = std::vector<SequenceId>;

TEST(WholePrompts, AreOneSliceEachAndLeaveNothing) {
  WholePrompts f(64, 200);
  f.add(1, 150);
  f.add(2, 60);
  f.add(3, 50);
  EXPECT_EQ(f.step(), (Ids{1, 3})) << "2 does not fit beside 1, and 3 does";
  EXPECT_EQ(f.step(), (Ids{2}));
  f.add(4, 150);  // was computed before, and is again
  f.add(5, 200);  // as many as a step has rows
  EXPECT_EQ(f.step(), (Ids{4}));
  EXPECT_EQ(f.step(), (Ids{5}));
}

TEST(WholePrompts, ThatNeedEachOthersPagesAllFinish) {
  WholePrompts f(8, 1000);
  for (SequenceId id = 1; id <= 6; ++id) f.add(id, 40 * id);
  for (int i = 0; i < 100 && f.n_left() > 0; ++i) EXPECT_FALSE(f.step().empty());
  EXPECT_EQ(f.n_left(), 0u);
}

}  // namespace
}  // namespace tempo9::sched
