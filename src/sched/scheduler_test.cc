#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <random>

#include "sched/testing/scheduler_fixture.h"

namespace tempo9::sched {
namespace {

TEST(Scheduler, APromptComesInSlicesAndThenRowByRow) {
  Fixture f(64, {.max_batch = 4, .max_rows = 100});
  f.add(1, iota(250), 3);
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{1, 0, 100}}));
  f.step();
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{1, 200, 50}}));
  EXPECT_EQ(f.replies[1].size(), 1u);
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{1, 250, 1}}));
  f.run();
  EXPECT_TRUE(f.right(1));
  EXPECT_TRUE(f.scheduler.plan().empty());
}

TEST(Scheduler, PagesHeldElsewhereGiveWayBeforeARunningSequenceDoes) {
  Fixture f(4, {.max_batch = 2, .max_rows = 64});
  f.add(1, iota(64), 1);
  f.run();
  kv::Lease pinned = f.cache.match_prefix(iota(64));
  int n_asked = 0;
  f.scheduler.set_give_way([&] {
    pinned = kv::Lease();
    return ++n_asked == 1;
  });
  f.add(2, iota(120, 500), 2);  // all four pages
  f.run();
  EXPECT_EQ(n_asked, 1);
  EXPECT_TRUE(f.right(2));
  EXPECT_EQ(f.scheduler.n_preemptions(), 0u);
}

// It computes the prompt's beginning although that is known.
// One that is looked up at each step before there is room for it is not served by that.
TEST(Scheduler, WaitingForRoomDoesNotChangeWhereTokensCameFrom) {
  Fixture f(8);
  {
    kv::Lease brought = f.cache.match_prefix(iota(64));
    ASSERT_TRUE(brought.extend(64));
    f.arena.compute(brought.pages(), 0, iota(64));
    brought.commit(iota(64), kv::Origin::kDisk);
  }
  f.add(1, iota(150, 1000), 20);  // five pages, later six
  f.add(2, iota(160), 3);         // six, of which two are there
  f.step();
  f.step();
  EXPECT_FALSE(f.cached.contains(2));
  f.run();
  EXPECT_EQ(f.sources[2], (kv::CachedTokens{.disk = 64}));
  EXPECT_TRUE(f.right(1) && f.right(2));
}

TEST(Scheduler, NobodyWaitsForOneThatWantsAllLogits) {
  Fixture f(64, {.max_batch = 2, .max_rows = 64, .max_logit_rows = 16});
  f.add(1, iota(100), 1);
  f.run();
  f.add(2, iota(100), 1, /*all_logits=*/true);
  f.step();
  f.add(3, iota(100), 1);
  f.step();
  EXPECT_EQ(f.finished, (std::vector<SequenceId>{1, 3}));
}

// Places in the batch are shared by sessions, not by requests.
TEST(Scheduler, AFewRequestsOfOneSessionDoNotWaitForTheManyOfAnother) {
  Fixture f(256, {.max_batch = 2, .max_rows = 64});
  for (SequenceId id = 1; id <= 8; ++id) {
    f.add(id, iota(20, static_cast<TokenId>(1000 * id)), 5, false, /*session=*/1);
  }
  f.step();
  f.add(9, iota(20, 9000), 5, false, /*session=*/2);
  f.add(10, iota(20, 10000), 5);  // nobody's
  f.run();
  const auto place = [&](SequenceId id) {
    return std::ranges::find(f.finished, id) - f.finished.begin();
  };
  EXPECT_EQ(place(9), 3);   // 1 and 2 end together, and 3 came before it
  EXPECT_EQ(place(10), 5);  // beside 4
  EXPECT_TRUE(std::ranges::is_sorted(std::vector{place(3), place(4), place(5), place(8)}));
}

TEST(Scheduler, NobodyIsOvertakenForEver) {
  Fixture f(256, {.max_batch = 2, .max_rows = 64});
  f.add(1, iota(20, 1000), 1000, false, /*session=*/1);
  f.step();
  f.add(2, iota(20, 2000), 5, false, /*session=*/1);
  SequenceId id = 2;
  while (std::ranges::find(f.finished, 2u) == f.finished.end()) {
    ++id;
    f.add(id, iota(20, static_cast<TokenId>(1000 * id)), 1);  // always one more
    ASSERT_NO_FATAL_FAILURE(f.step());
    ASSERT_LT(id, 3 * Scheduler::kMaxOvertaken);
  }
  EXPECT_GE(id, Scheduler::kMaxOvertaken);
}

TEST(Scheduler, RepliesGoOnWhileAPromptIsRead) {
  Fixture f(64, {.max_batch = 4, .max_rows = 100});
  f.add(1, iota(10), 20);
  f.step();
  f.add(2, iota(100, 500), 2);
  f.add(3, iota(5, 900), 2);
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{1, 10, 1}, {3, 0, 5}, {2, 0, 11}}));
  f.run();
  EXPECT_TRUE(f.right(1) && f.right(2) && f.right(3));
}

// A machine with a cost for each step, for each row of a reply and for each row of a prompt.
double small_machine(size_t n_replies, size_t n_prompt) {
  return 25.0 + static_cast<double>(n_replies) + 1.4 * static_cast<double>(n_prompt);
}

TEST(Scheduler, ALongPromptBesideRepliesKeepsTheGapAndMostOfItsSpeed) {
  Fixture f(1200, {.max_batch = 8});
  std::vector<double> gaps;
  double prompt_ms = 0, prompt_rows = 0;
  f.ms_of_step = [&](size_t n_replies, size_t n_prompt) {
    const double ms = small_machine(n_replies, n_prompt);
    if (n_replies >= 3) gaps.push_back(ms);
    if (n_replies >= 3 && n_prompt > 0) {
      prompt_ms += ms;
      prompt_rows += static_cast<double>(n_prompt);
    }
    return ms;
  };
  for (SequenceId id = 1; id <= 3; ++id) f.add(id, iota(20, static_cast<TokenId>(100 * id)), 400);
  for (int i = 0; i < 20; ++i) f.step();
  f.add(4, iota(16'000, 1'000'000), 1);
  while (!std::ranges::count(f.finished, 4u)) ASSERT_NO_FATAL_FAILURE(f.step());
  std::ranges::sort(gaps);
  EXPECT_LE(gaps[gaps.size() * 99 / 100], kGapMs);
  const double alone = 512 / small_machine(0, 512);
  EXPECT_GE(prompt_rows / prompt_ms, 0.7 * alone);
}

TEST(Scheduler, AShortNewcomerDoesNotWaitBehindALongPrompt) {
  Fixture f(1200, {.max_batch = 8});
  f.ms_of_step = small_machine;
  for (SequenceId id = 1; id <= 4; ++id) f.add(id, iota(20, static_cast<TokenId>(100 * id)), 300);
  for (int i = 0; i < 10; ++i) f.step();
  f.add(5, iota(9'000, 1'000'000), 1);
  for (int i = 0; i < 10; ++i) f.step();
  f.add(6, iota(50, 5'000'000), 5);
  for (int i = 0; i < 3; ++i) f.step();
  EXPECT_GE(f.replies[6].size(), 1u);
}

TEST(Scheduler, AShortNewcomerIsReadAtOnceOnASlowMachineToo) {
  Fixture f(1200, {.max_batch = 8});
  f.ms_of_step = [](size_t n_replies, size_t n_prompt) {
    return 40.0 + static_cast<double>(n_replies) + 8 * static_cast<double>(n_prompt);
  };
  for (SequenceId id = 1; id <= 4; ++id) f.add(id, iota(20, static_cast<TokenId>(100 * id)), 300);
  f.add(5, iota(9'000, 1'000'000), 1);
  for (int i = 0; i < 40; ++i) f.step();
  f.add(6, iota(50, 5'000'000), 5);
  f.step();
  EXPECT_EQ(f.replies[6].size(), 1u);
  // Not one behind the other: the replies' gaps are promised, too.
  f.add(7, iota(50, 6'000'000), 5);
  f.step();
  EXPECT_TRUE(f.replies[7].empty());
}

TEST(Scheduler, ShortPromptsDoNotKeepALongOneWaitingForEver) {
  Fixture f(1200, {.max_batch = 4, .max_rows = 64});
  f.add(1, iota(6'400, 1'000'000), 1);
  SequenceId next = 2;
  int n_steps = 0;
  for (; n_steps < 1000 && !std::ranges::count(f.finished, 1u); ++n_steps) {
    while (f.wanted.size() < 4) {
      f.add(next, iota(64, static_cast<TokenId>(2'000'000 + 100 * next)), 1);
      ++next;
    }
    ASSERT_NO_FATAL_FAILURE(f.step());
  }
  EXPECT_LE(n_steps, 400);  // a quarter of 64 rows a step
}

TEST(Scheduler, NewcomersAreAdmittedInOrderWithinTheBatch) {
  Fixture f(64, {.max_batch = 2});
  for (SequenceId id = 1; id <= 5; ++id) {
    f.add(id, iota(10, static_cast<TokenId>(100 * id)), 2);
  }
  f.step();
  EXPECT_EQ(f.scheduler.n_running() + f.finished.size(), 2u);
  EXPECT_EQ(f.scheduler.n_waiting(), 3u);
  f.run();
  EXPECT_EQ(f.finished, (std::vector<SequenceId>{1, 2, 3, 4, 5}));
}

TEST(Scheduler, TheSameNewPromptIsComputedOnce) {
  Fixture f(64, {.max_batch = 8, .max_rows = 64});
  for (SequenceId id = 1; id <= 4; ++id) {
    f.add(id, iota(200), 3);
  }
  f.run();
  EXPECT_EQ(f.cached[1], 0u);
  for (SequenceId id = 2; id <= 4; ++id) {
    EXPECT_EQ(f.cached[id], 199u);
    EXPECT_TRUE(f.right(id));
  }
  EXPECT_LE(f.n_computed_rows, 200u + 4 * 3);
}

TEST(Scheduler, AFollowerTakesOverWhenItsLeaderIsCancelled) {
  Fixture f(64, {.max_batch = 8, .max_rows = 64});
  f.add(1, iota(200), 3);
  f.add(2, iota(200), 3);
  f.step();
  f.step();
  f.remove(1);
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{2, 128, 64}}));
  f.run();
  EXPECT_TRUE(f.right(2));
}

TEST(Scheduler, FinishedPromptsStayKnown) {
  Fixture f(64);
  f.add(1, iota(70), 10);
  f.run();
  Tokens next = iota(70);
  next.insert(next.end(), f.replies[1].begin(), f.replies[1].end() - 1);
  next.push_back(77);
  f.add(2, next, 2);
  f.run();
  EXPECT_EQ(f.cached[2], 79u);
  EXPECT_TRUE(f.right(2));
}

TEST(Scheduler, AllLogitsComeOnceForEachRowWhateverIsCached) {
  Fixture f(64, {.max_batch = 4, .max_logit_rows = 20});
  f.add(1, iota(70), 2);
  f.run();
  f.add(2, iota(70), 2, true);
  f.add(3, iota(1), 2, true);
  f.run();
  EXPECT_EQ(f.cached[2], 0u);
  std::vector<size_t> rows(71);
  std::iota(rows.begin(), rows.end(), 0u);
  EXPECT_EQ(f.logits_at[2], rows);
  EXPECT_EQ(f.logits_at[3], (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(f.right(2) && f.right(3));
}

TEST(Scheduler, AllStatesComeForEachRowInFullSlices) {
  Fixture f(64, {.max_batch = 4, .max_rows = 64, .max_logit_rows = 80});
  f.add(1, iota(70), 1);
  f.run();
  f.wanted[2] = 1;
  f.prompts[2] = iota(70);
  f.scheduler.add({.id = 2, .prompt = iota(70), .all_states = true});
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{2, 0, 64}}));  // not cut to logit rows, nothing cached
  f.run();
  std::vector<size_t> rows(70);
  std::iota(rows.begin(), rows.end(), 0u);
  EXPECT_EQ(f.logits_at[2], rows);
}

TEST(Scheduler, OutOfPagesTheYoungestStartsAgainAndAllFinish) {
  Fixture f(8, {.max_batch = 4});
  for (SequenceId id = 1; id <= 4; ++id) {
    f.add(id, iota(40, static_cast<TokenId>(100 * id)), 200);
  }
  f.run();
  EXPECT_GT(f.scheduler.n_preemptions(), 0u);
  EXPECT_EQ(f.finished.front(), 1u);
  for (SequenceId id = 1; id <= 4; ++id) {
    EXPECT_TRUE(f.right(id));
  }
}

TEST(Scheduler, PromptsThatNeedEachOthersPagesDoNotWaitForEver) {
  Fixture f(9, {.max_batch = 3, .max_rows = 32});
  for (SequenceId id = 1; id <= 3; ++id) {
    f.add(id, iota(280, static_cast<TokenId>(1000 * id)), 5);
  }
  f.run();
  EXPECT_TRUE(f.right(1) && f.right(2) && f.right(3));
}

TEST(Scheduler, WhatIsNotDoneComesAgain) {
  Fixture f(8);
  f.add(1, iota(5), 1);
  const auto first = f.scheduler.plan();
  ASSERT_EQ(first.size(), 1u);
  f.scheduler.apply(std::vector<SliceResult>{{.n_rows = 0, .tokens = {}}});
  const auto second = f.scheduler.plan();
  EXPECT_EQ(second[0].n_past, 0u);
  f.arena.compute(second[0].pages, 0, second[0].tokens.first(3));
  f.scheduler.apply(std::vector<SliceResult>{{.n_rows = 3, .tokens = {}}});
  f.check();
  f.step();
  EXPECT_EQ(f.plan, (std::vector<Planned>{{1, 3, 2}}));
  f.run();
  EXPECT_TRUE(f.right(1));
}

TEST(Scheduler, RandomRequestsEqualTheTwin) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 6; ++round) {
    const auto n_pages = static_cast<uint32_t>(8 + below(30));
    const Limits limits{.max_batch = static_cast<uint32_t>(1 + below(6)),
                        .max_rows = static_cast<uint32_t>(6 + below(60)),
                        .max_logit_rows = static_cast<uint32_t>(7 + below(10))};
    kv::CacheOptions pages{.n_pages = n_pages};
    uint64_t memory = n_pages;
    if (round % 2 == 1) {  // layers with windows, and memory for little more than one sequence
      pages.classes = {{0, 1}, {40, 2}};
      pages.step_tokens = limits.max_rows;
      memory = pages.memory_bytes = kv::sequence_bytes(pages, n_pages * 32) + below(30);
    }
    if (round % 3 == 2) {  // recurrent layers, whose states are large
      pages.state_bytes = 4;
      pages.n_states = 4 * limits.max_batch + 10;
      memory = pages.memory_bytes = kv::sequence_bytes(pages, n_pages * 32) + below(60);
    }
    Fixture f(pages, limits);
    SequenceId next_id = 1;
    for (int i = 0; i < 700; ++i) {
      if (below(3) == 0 && f.wanted.size() < 12) {
        Tokens prompt;
        if (next_id > 1 && below(3) != 0) {
          const SequenceId other = 1 + below(next_id - 1);
          prompt = f.prompts[other];
          prompt.insert(prompt.end(), f.replies[other].begin(), f.replies[other].end());
          prompt.resize(below(std::min<size_t>(prompt.size(), 150) + 1));
        }
        while (below(20) != 0 || prompt.empty()) {
          prompt.push_back(static_cast<TokenId>(below(2)));
        }
        prompt.resize(std::min<size_t>(prompt.size(), 200));
        f.add(next_id++, prompt, 1 + below(n_pages * 32 - prompt.size()) % 50, below(10) == 0,
              below(4));
      }
      if (below(25) == 0 && !f.wanted.empty()) {
        f.remove(
            std::next(f.wanted.begin(), static_cast<ptrdiff_t>(below(f.wanted.size())))->first);
        f.check();
      }
      ASSERT_NO_FATAL_FAILURE(f.step());
    }
    ASSERT_NO_FATAL_FAILURE(f.run());
    for (const auto& [id, reply] : f.replies) {
      ASSERT_TRUE(f.right(id)) << "sequence " << id;
    }
    EXPECT_EQ(f.cache.free_bytes(), memory);
  }
}

// With recurrent layers a prompt goes on from a page border where a state stands.
TEST(Scheduler, EqualPromptsAreComputedOnceAndTheSameAgainGoesOnNearItsEnd) {
  Fixture f(kv::CacheOptions{.n_pages = 64, .state_bytes = 1000, .n_states = 30},
            {.max_batch = 4, .max_rows = 64});
  const Tokens prompt = iota(300);
  Tokens other = prompt;
  other[200] = 7;
  f.add(1, prompt, 5);
  f.step();
  f.add(2, prompt, 5);
  f.add(3, other, 5);
  f.run();
  EXPECT_TRUE(f.right(1) && f.right(2) && f.right(3));
  EXPECT_EQ(f.cached[2], 288u);
  EXPECT_EQ(f.cached[3], 192u);  // the leader left a state where the follower leaves it
  f.add(4, prompt, 5);
  Tokens next = prompt;
  next.insert(next.end(), f.replies[1].begin(), f.replies[1].end() - 1);
  next.push_back(9);
  f.run();
  EXPECT_EQ(f.cached[4], 288u);
  f.add(5, next, 5);
  f.run();
  EXPECT_EQ(f.cached[5], 304u);  // where the reply ended, within a page
  EXPECT_TRUE(f.right(4) && f.right(5));
}

// Ten thousand requests through a small machine: integrity after each step, every reply equal to
// the twin's.
TEST(Scheduler, TenThousandRequestsEqualTheTwin) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const bool is_recurrent = random() % 2 == 0;
  Fixture f({.n_pages = 12,
             .memory_bytes = 14,
             .state_bytes = is_recurrent ? 1u : 0u,
             .n_states = is_recurrent ? 40u : 0u},
            {.max_batch = 8, .max_rows = 96});
  f.ms_of_step = small_machine;
  std::vector<Tokens> heads;
  for (int i = 0; i < 4; ++i) heads.push_back(iota(20 + 15 * static_cast<size_t>(i), 1000 * i));
  SequenceId next_id = 1;
  size_t n_cancelled = 0;
  while (next_id <= 10'000 || !f.wanted.empty()) {
    while (next_id <= 10'000 && f.wanted.size() < 12 && below(3) != 0) {
      Tokens prompt = heads[below(heads.size())];
      for (size_t n = below(12); n > 0; --n) prompt.push_back(static_cast<TokenId>(below(3)));
      f.add(next_id++, prompt, 1 + below(4));
    }
    if (below(40) == 0 && !f.wanted.empty()) {
      f.remove(f.wanted.begin()->first);
      ++n_cancelled;
    }
    ASSERT_NO_FATAL_FAILURE(f.step());
  }
  for (const auto& [id, reply] : f.replies) ASSERT_TRUE(f.right(id)) << "sequence " << id;
  EXPECT_EQ(f.finished.size() + n_cancelled, 10'000u);
  EXPECT_GT(n_cancelled, 0u);
}

}  // namespace
}  // namespace tempo9::sched
