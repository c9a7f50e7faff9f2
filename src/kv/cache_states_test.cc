// Recurrent states in the prefix cache: the arena checks at each step that the state which it goes
// on from is the one behind the tokens before.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kv/cache.h"
#include "kv/testing/fake_arena.h"
#include "kv/testing/tokens.h"

namespace tempo9::kv {
namespace {

using testing::FakeArena;
using testing::iota;
using testing::Tokens;

// A page takes one byte, and a state as much as ten: 20 pages apart.
CacheOptions recurrent(uint32_t n_pages, uint32_t n_states, uint64_t memory_bytes = 0,
                       uint64_t state_bytes = 10) {
  return {.n_pages = n_pages,
          .memory_bytes = memory_bytes,
          .step_tokens = 64,
          .state_bytes = state_bytes,
          .n_states = n_states};
}

struct StatesFixture {
  explicit StatesFixture(const CacheOptions& options)
      : arena(options.n_pages, options.classes, options.n_states), cache(options, {1, 2}, &arena) {}

  // Computes tokens from what the lease holds, in steps of at most slice rows.
  void compute(Lease* lease, const Tokens& tokens, uint32_t n_done, uint32_t slice = 64) {
    while (n_done < tokens.size()) {
      const auto n = std::min<uint32_t>(slice, static_cast<uint32_t>(tokens.size()) - n_done);
      ASSERT_TRUE(lease->extend(n_done + n));
      const auto states = lease->begin_step(n);
      arena.compute(lease->pages(), n_done, std::span(tokens).subspan(n_done, n), states.in,
                    states.out);
      n_done += n;
      lease->commit(std::span(tokens).first(n_done));
      check();
    }
  }
  // A whole request; how many of its tokens were found.
  uint32_t run(const Tokens& tokens, uint32_t n_prompt = 0) {
    Lease lease = cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size()) - 1);
    const uint32_t n_cached = lease.n_cached();
    if (n_prompt > 0) lease.want_state(n_prompt - 1);
    compute(&lease, tokens, n_cached);
    return n_cached;
  }
  uint32_t hit(const Tokens& tokens) { return cache.match_prefix(tokens).n_cached(); }
  void check() {
    const Status status = cache.check_integrity();
    ASSERT_TRUE(status) << status.error().message;
  }
  FakeArena arena;
  Cache cache;
};

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(CacheStates, TheNextTurnGoesOnFromWhereASequenceEnded) {
  StatesFixture f(recurrent(64, 8));
  f.run(iota(100));
  EXPECT_EQ(f.hit(iota(100)), 100u);
  EXPECT_EQ(f.hit(iota(99)), 0u);  // no state stands there
  EXPECT_EQ(f.run(joined(iota(100), iota(70, 500))), 100u);
  EXPECT_EQ(f.hit(joined(iota(100), iota(70, 500))), 170u);
  EXPECT_EQ(f.hit(joined(iota(100), iota(3, 900))), 100u);  // the first turn's state is still there
  f.run(iota(128, 2000));
  EXPECT_EQ(f.hit(iota(128, 2000)), 128u);  // where a whole page ended
  f.check();
}

TEST(CacheStates, TheSamePromptGoesOnFromItsLastPageBorder) {
  StatesFixture f(recurrent(64, 8));
  const Tokens prompt = iota(100);
  f.run(joined(prompt, iota(40, 500)), 100);
  EXPECT_EQ(f.cache.match_prefix(prompt, 99).n_cached(), 96u);
  // Without what was thought: another reply behind the same prompt.
  EXPECT_EQ(f.run(joined(prompt, iota(40, 700))), 96u);
  EXPECT_EQ(f.run(iota(96), 96), 0u);  // all but the last token is known, and no state before it
  EXPECT_EQ(f.cache.match_prefix(iota(96), 95).n_cached(), 64u);
}

TEST(CacheStates, PromptsThatBeginAlikeComputeTheirBeginningTwiceAtMost) {
  StatesFixture f(recurrent(64, 8));
  const auto session = [&](TokenId own) { return f.run(joined(iota(230), iota(100, own)), 330); };
  EXPECT_EQ(session(1000), 0u);
  EXPECT_EQ(session(2000), 0u);  // the pages are known, and no state is at the fork
  EXPECT_EQ(session(3000), 224u);
  EXPECT_EQ(session(4000), 224u);
}

TEST(CacheStates, LongPromptsLeaveStatesEverySoManyPages) {
  StatesFixture f(recurrent(128, 16));
  f.run(iota(100 * 32), 100 * 32);
  EXPECT_EQ(f.hit(iota(25 * 32)), 20u * 32);
  EXPECT_EQ(f.hit(iota(85 * 32)), 80u * 32);
  // Small states stand at each border, large ones 64 pages apart at most.
  StatesFixture small(recurrent(16, 16, 0, 1));
  small.run(iota(320));
  EXPECT_EQ(small.hit(iota(70)), 64u);
  StatesFixture large(recurrent(128, 16, 0, 1000));
  large.run(iota(100 * 32));
  EXPECT_EQ(large.hit(iota(90 * 32)), 64u * 32);
}

TEST(CacheStates, BitsOfAStepThatNeverRanAreNobodys) {
  StatesFixture f(recurrent(64, 8));
  {
    Lease lease = f.cache.match_prefix(iota(200));
    f.compute(&lease, iota(64), 0);
    lease.want_state(96);
    ASSERT_TRUE(lease.extend(128));
    lease.begin_step(64);
    f.check();
    lease.begin_step(32);  // planned anew
    f.check();
  }  // and it failed
  f.check();
  EXPECT_EQ(f.hit(iota(200)), 0u);
  EXPECT_EQ(f.cache.needed_bytes(), 0u);
  EXPECT_EQ(f.run(iota(200)), 0u);
}

TEST(CacheStates, WhatIsHeldStaysAndTheOldestGoesFirst) {
  // Room for 40 pages and four states: fewer are never asked for.
  StatesFixture f(recurrent(40, 8, 80));
  for (TokenId i = 0; i < 6; ++i) f.run(iota(40, 1000 * i));
  EXPECT_EQ(f.hit(iota(40, 1000)), 0u);
  EXPECT_EQ(f.hit(iota(40, 5000)), 40u);
  EXPECT_EQ(f.hit(iota(40, 2000)), 40u);  // looked at: the youngest from now on
  f.run(iota(40, 9000));
  EXPECT_EQ(f.hit(iota(40, 2000)), 40u);
  EXPECT_EQ(f.hit(iota(40, 3000)), 0u);
  const uint64_t n_resident = f.cache.resident_bytes();
  EXPECT_GE(n_resident, 40u);  // four states
  EXPECT_EQ(f.cache.give_back(1000), n_resident);
  EXPECT_EQ(f.cache.resident_bytes(), 0u);
  f.check();
}

TEST(CacheStates, OneSequenceCanAlwaysUseAllMemory) {
  StatesFixture f(recurrent(4, 2, 4 + 10));
  EXPECT_EQ(sequence_bytes(recurrent(4, 2), 128), 14u);
  f.run(iota(100));
  const Tokens tokens = joined(iota(100), iota(28, 500));
  EXPECT_EQ(f.run(tokens), 100u);  // no room beside the state it starts from: that moves on
  EXPECT_EQ(f.hit(tokens), 128u);
  EXPECT_EQ(f.run(iota(128, 3000)), 0u);
  f.check();
}

TEST(CacheStates, AStateFromBelowIsFoundAndAnEqualOneIsNotAskedForAgain) {
  StatesFixture f(recurrent(64, 8));
  f.cache.set_lists_whole_pages(true);
  f.run(iota(128), 128);
  const auto first = f.cache.next_whole_state(), second = f.cache.next_whole_state();
  ASSERT_TRUE(first && second && !f.cache.next_whole_state());
  EXPECT_EQ(first->page.tokens[0], 64);  // the border before the prompt's last token, then its end
  EXPECT_EQ(second->page.tokens[0], 96);

  std::vector<uint8_t> page(FakeArena::kPageBytes), state(FakeArena::kStateBytes);
  StatesFixture g(recurrent(64, 8));
  {
    Lease lease = g.cache.match_prefix(iota(200));
    ASSERT_TRUE(lease.extend(128, /*computes=*/false));
    Lease known = f.cache.match_prefix(iota(128));
    for (size_t i = 0; i < 4; ++i) {
      f.arena.read_page(known.pages()[i], page);
      g.arena.write_page(lease.pages()[i], page);
    }
    lease.commit(iota(128), Origin::kDisk);
    const StateSlot slot = lease.add_state(96);
    ASSERT_NE(slot, kNoSlot);
    f.arena.read_state(first->slot, state);
    g.arena.write_state(slot, state);
    EXPECT_EQ(lease.add_state(96), kNoSlot);
    g.check();
  }
  Lease lease = g.cache.match_prefix(iota(200));
  EXPECT_EQ(lease.cached(), (CachedTokens{.disk = 96}));
  g.compute(&lease, iota(200), 96);
}

// Against nothing but the arena: hits may be shorter than what is known, never wrong.
TEST(CacheStates, RandomOperations) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  struct Running {
    Lease lease;
    Tokens tokens;
    uint32_t n_done = 0;
  };
  CacheOptions with_windows = recurrent(60, 14, 150, 3);
  with_windows.classes = {{0, 1}, {20, 2}};
  for (const CacheOptions& options :
       {recurrent(24, 9), recurrent(40, 30, 60, 4), recurrent(400, 20), with_windows}) {
    StatesFixture f(options);
    std::vector<Running> running;
    std::vector<Tokens> known;
    size_t n_hits = 0;
    for (int i = 0; i < 6000; ++i) {
      const auto dice = random() % 10;
      if (dice < 3 && running.size() < 4) {
        Tokens tokens;
        if (!known.empty() && random() % 4 != 0) {
          tokens = known[random() % known.size()];
          if (random() % 2 == 0) tokens.resize(random() % (tokens.size() + 1));
        }
        for (size_t n = 1 + random() % 60; n > 0; --n)
          tokens.push_back(static_cast<TokenId>(random() % 2));
        tokens.resize(std::min<size_t>(tokens.size(), 150));
        Running r{f.cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size()) - 1), tokens,
                  0};
        r.n_done = r.lease.n_cached();
        n_hits += r.n_done > 0 ? 1 : 0;
        if (random() % 2 == 0) r.lease.want_state(static_cast<uint32_t>(tokens.size()) - 1);
        running.push_back(std::move(r));
      } else if (dice < 8 && !running.empty()) {
        Running& r = running[random() % running.size()];
        const auto n_left = static_cast<uint32_t>(r.tokens.size()) - r.n_done;
        const auto n = std::min(n_left, 1 + static_cast<uint32_t>(random() % 70));
        if (n > 0 && r.lease.extend(r.n_done + n)) {
          auto states = r.lease.begin_step(n);
          if (random() % 8 == 0) states = r.lease.begin_step(n);  // planned anew
          f.arena.compute(r.lease.pages(), r.n_done, std::span(r.tokens).subspan(r.n_done, n),
                          states.in, states.out);
          r.n_done += n;
          r.lease.commit(std::span(r.tokens).first(r.n_done));
          ASSERT_TRUE(f.arena.holds(r.lease.pages(), r.tokens, r.n_done));
          known.emplace_back(r.tokens.begin(), r.tokens.begin() + r.n_done);
        }
      } else if (!running.empty() && dice == 8) {
        Running& r = running[random() % running.size()];
        if (r.n_done < r.tokens.size() && r.lease.extend(r.n_done + 1)) r.lease.begin_step(1);
        running.erase(running.begin() + (&r - running.data()));
      } else if (!running.empty()) {
        running.erase(running.begin() + static_cast<ptrdiff_t>(random() % running.size()));
      }
      if (random() % 50 == 0) f.cache.give_back(1 + random() % 20);
      f.cache.set_thrifty(random() % 4 == 0);
      const Status status = f.cache.check_integrity();
      ASSERT_TRUE(status) << status.error().message << " after operation " << i;
    }
    EXPECT_GT(n_hits, 20u);
    running.clear();
    EXPECT_EQ(f.cache.needed_bytes(), 0u);
  }
}

}  // namespace
}  // namespace tempo9::kv
