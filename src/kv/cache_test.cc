#include "kv/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kv/testing/fake_arena.h"
#include "kv/testing/tokens.h"

namespace tempo9::kv {
namespace {

using testing::FakeArena;
using testing::iota;
using testing::Tokens;

struct CacheFixture {
  explicit CacheFixture(uint32_t n_pages) : CacheFixture(CacheOptions{.n_pages = n_pages}) {}
  explicit CacheFixture(const CacheOptions& options)
      : arena(options.n_pages, options.classes, options.n_states), cache(options, {1, 2}, &arena) {}

  void run(const Tokens& tokens) {
    Lease lease = cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size()) - 1);
    ASSERT_TRUE(lease.extend(static_cast<uint32_t>(tokens.size())));
    compute(&lease, tokens, lease.n_cached());
    lease.commit(tokens);
    check();
  }
  void compute(Lease* lease, const Tokens& tokens, uint32_t from) {
    const auto states = lease->begin_step(static_cast<uint32_t>(tokens.size()) - from);
    arena.compute(lease->pages(), from, std::span(tokens).subspan(from), states.in, states.out);
  }
  uint32_t hit(const Tokens& tokens) {
    return cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size())).n_cached();
  }
  void check() {
    const Status status = cache.check_integrity();
    ASSERT_TRUE(status) << status.error().message;
  }
  FakeArena arena;
  Cache cache;
};

TEST(Cache, HitsEndAtAnyToken) {
  CacheFixture f(16);
  f.run(iota(100));
  EXPECT_EQ(f.hit(iota(100)), 100u);
  EXPECT_EQ(f.hit(iota(150)), 100u);
  EXPECT_EQ(f.hit(iota(70)), 70u);
  Tokens edited = iota(100);
  edited[45] = 999;
  EXPECT_EQ(f.hit(edited), 45u);
  edited[0] = 999;
  EXPECT_EQ(f.hit(edited), 0u);
  EXPECT_EQ(f.cache.match_prefix(iota(100), 99).n_cached(), 99u);
  EXPECT_EQ(f.cache.match_prefix(iota(100), 0).n_cached(), 0u);
  EXPECT_EQ(f.arena.n_copies, 0);  // looking copies nothing
  f.check();
}

TEST(Cache, APartialPageIsCopiedAndBothGoOnApart) {
  CacheFixture f(16);
  const Tokens first = iota(50);
  Tokens second = iota(40);
  second.resize(70, 7);
  Lease a = f.cache.match_prefix(first, 49);
  ASSERT_TRUE(a.extend(50));
  f.compute(&a, first, 0);
  a.commit(first);
  Lease b = f.cache.match_prefix(second, 69);
  EXPECT_EQ(b.n_cached(), 40u);
  EXPECT_EQ(b.missing_bytes(70), 2u);
  ASSERT_TRUE(b.extend(70));
  EXPECT_EQ(f.arena.n_copies, 1);
  EXPECT_EQ(b.pages()[0], a.pages()[0]);
  EXPECT_NE(b.pages()[1], a.pages()[1]);
  f.compute(&b, second, 40);
  b.commit(second);
  EXPECT_TRUE(f.arena.holds(a.pages(), first, 50));
  EXPECT_TRUE(f.arena.holds(b.pages(), second, 70));
  f.check();
}

TEST(Cache, EqualPagesBecomeOne) {
  CacheFixture f(16);
  const Tokens tokens = iota(64);
  Lease a = f.cache.match_prefix(tokens, 0), b = f.cache.match_prefix(tokens, 0);
  ASSERT_TRUE(a.extend(64));
  ASSERT_TRUE(b.extend(64));
  f.compute(&a, tokens, 0);
  f.compute(&b, tokens, 0);
  EXPECT_EQ(f.cache.free_bytes(), 12u);
  a.commit(tokens);
  b.commit(tokens);
  EXPECT_EQ(f.cache.free_bytes(), 14u);
  EXPECT_TRUE(std::ranges::equal(a.pages(), b.pages()));
  f.check();
}

TEST(Cache, TailsAreEvictedBeforeHeadsAndOldBeforeNew) {
  CacheFixture f(6);
  f.run(iota(96));        // three pages
  f.run(iota(96, 1000));  // three more
  f.run(iota(32, 2000));  // takes the first one's last page
  EXPECT_EQ(f.hit(iota(96)), 64u);
  EXPECT_EQ(f.hit(iota(96, 1000)), 96u);
}

TEST(Cache, WhatUsesAPrefixIsEvictedBeforeIt) {
  CacheFixture f(10);
  f.run(iota(160));  // five pages
  Tokens branch = iota(64);
  branch.resize(160, 7);
  f.run(branch);           // shares two of them
  f.run(iota(128, 5000));  // takes the oldest first: the first one's own tail
  EXPECT_EQ(f.hit(iota(160)), 96u);
  EXPECT_EQ(f.hit(branch), 160u);
}

TEST(Cache, MemoryGoesBackOldestFirstAndIsForgotten) {
  CacheFixture f(16);
  f.run(iota(96));
  f.run(iota(96, 1000));
  EXPECT_EQ(f.cache.n_warm_pages(), 6u);
  EXPECT_EQ(f.cache.give_back(2), 2u);
  EXPECT_EQ(f.arena.n_drops, 2);
  EXPECT_EQ(f.hit(iota(96)), 32u);
  EXPECT_EQ(f.hit(iota(96, 1000)), 96u);
  EXPECT_EQ(f.cache.free_bytes(), 16u);
  f.check();
  const Lease held = f.cache.match_prefix(iota(96, 1000), 96);
  EXPECT_EQ(f.cache.give_back(100), 1u);  // what is held stays
  EXPECT_EQ(f.cache.resident_bytes(), 3u);
  f.check();
}

TEST(Cache, HitsAreCountedByWhereTheyWere) {
  CacheFixture f(16);
  f.run(iota(96));
  EXPECT_EQ(f.cache.match_prefix(iota(70), 70).cached(), (CachedTokens{.ram = 70}));
  const Lease held = f.cache.match_prefix(iota(64), 64);
  EXPECT_EQ(f.cache.match_prefix(iota(96), 95).cached(), (CachedTokens{.live = 64, .ram = 31}));
  const Tokens from_disk = iota(64, 500);
  {
    Lease lease = f.cache.match_prefix(from_disk);
    ASSERT_TRUE(lease.extend(64));
    f.compute(&lease, from_disk, 0);
    lease.commit(from_disk, Origin::kDisk);
  }
  EXPECT_EQ(f.cache.match_prefix(from_disk).cached(), (CachedTokens{.disk = 64}));
  {
    Lease lease = f.cache.match_prefix(from_disk, 40);
    EXPECT_EQ(lease.cached(), (CachedTokens{.disk = 40}));  // looking changed nothing
    lease.use();
    EXPECT_EQ(lease.cached(), (CachedTokens{.disk = 40}));
  }
  EXPECT_EQ(f.cache.match_prefix(from_disk).cached(), (CachedTokens{.ram = 64}));
}

TEST(Cache, AWholePageIsFoundByItsKeyAndListedAgain) {
  CacheFixture f(16);
  f.cache.set_lists_whole_pages(true);
  f.run(iota(70));
  const auto first = f.cache.next_whole_page(), second = f.cache.next_whole_page();
  ASSERT_TRUE(first && second && !f.cache.next_whole_page());
  const auto again = f.cache.whole_page(second->parent);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->page, first->page);
  EXPECT_EQ(again->parent, PrefixKey{});
  f.cache.list_next(*second);
  f.cache.list_next(*again);
  EXPECT_EQ(f.cache.next_whole_page()->key, first->key);
  EXPECT_EQ(f.cache.next_whole_page()->key, second->key);
  f.cache.give_back(16);
  EXPECT_FALSE(f.cache.whole_page(first->key));
}

TEST(Cache, WholePagesAreListedOnceInOrder) {
  CacheFixture f(16);
  f.cache.set_lists_whole_pages(true);
  f.run(iota(70));
  f.run(iota(100));
  std::vector<TokenId> firsts;
  while (const auto page = f.cache.next_whole_page()) firsts.push_back(page->tokens[0]);
  EXPECT_EQ(firsts, (std::vector<TokenId>{0, 32, 64}));
  f.run(iota(64, 900));
  f.cache.give_back(16);
  EXPECT_FALSE(f.cache.next_whole_page());  // forgotten meanwhile
}

TEST(Cache, TooFewPagesChangesNothing) {
  CacheFixture f(3);
  Lease a = f.cache.match_prefix(iota(10), 0);
  ASSERT_TRUE(a.extend(33));
  Lease b = f.cache.match_prefix(iota(10), 0);
  EXPECT_FALSE(b.extend(33));
  EXPECT_TRUE(b.pages().empty());
  EXPECT_TRUE(b.extend(32));
  EXPECT_EQ(f.cache.free_bytes(), 0u);
  a = Lease();
  EXPECT_EQ(f.cache.free_bytes(), 2u);
  Lease moved = std::move(b);
  moved = Lease();
  EXPECT_EQ(f.cache.free_bytes(), 3u);
  f.check();
}

TEST(Cache, OneSequenceCanAlwaysUseTheWholePool) {
  CacheFixture f(2);
  f.run(iota(40));
  Tokens tokens = iota(36);
  tokens.resize(64, 5);
  Lease lease = f.cache.match_prefix(tokens, 63);
  EXPECT_EQ(lease.n_cached(), 36u);
  ASSERT_TRUE(lease.extend(64));
  EXPECT_EQ(f.arena.n_copies, 0);  // no page to copy to: the source itself is taken over
  f.compute(&lease, tokens, 36);
  lease.commit(tokens);
  EXPECT_TRUE(f.arena.holds(lease.pages(), tokens, 64));
  f.check();
}

// The naive twin: every sequence ever committed, in a list.
struct Twin {
  std::vector<Tokens> known;
  uint32_t longest(const Tokens& tokens, uint32_t limit) const {
    uint32_t best = 0;
    for (const Tokens& k : known) {
      uint32_t n = 0;
      while (n < k.size() && n < tokens.size() && n < limit && k[n] == tokens[n]) {
        ++n;
      }
      best = std::max(best, n);
    }
    return best;
  }
};

struct Running {
  Lease lease;
  Tokens tokens;  // all that it will hold
  uint32_t n_done = 0;
};

// With a large pool hits must be as long as the twin's; with a small one they may be shorter, but
// never wrong.
void random_operations(const CacheOptions& options, int n_operations, bool evicts) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  CacheFixture f(options);
  const bool has_windows = options.classes.size() > 1;
  Twin twin;
  std::vector<Running> running;
  for (int i = 0; i < n_operations; ++i) {
    const auto dice = random() % 10;
    if (dice < 3 && running.size() < 6) {
      Tokens tokens;
      if (!twin.known.empty() && random() % 4 != 0) {
        tokens = twin.known[random() % twin.known.size()];
        tokens.resize(random() % (tokens.size() + 1));
      }
      const size_t n_more = 1 + random() % 60;
      for (size_t k = 0; k < n_more; ++k) {
        tokens.push_back(static_cast<TokenId>(random() % 2));
      }
      tokens.resize(std::min<size_t>(tokens.size(), 150));
      const auto limit = static_cast<uint32_t>(random() % 8 == 0 ? 0 : tokens.size() - 1);
      Running r{f.cache.match_prefix(tokens, limit), tokens, 0};
      r.n_done = r.lease.n_cached();
      ASSERT_LE(r.n_done, twin.longest(tokens, limit));
      if (!evicts) {
        ASSERT_EQ(r.n_done, twin.longest(tokens, limit));
      }
      running.push_back(std::move(r));
    } else if (dice < 8 && !running.empty()) {
      Running& r = running[random() % running.size()];
      const auto n_left = static_cast<uint32_t>(r.tokens.size()) - r.n_done;
      const auto n = r.n_done + std::min(n_left, 1 + static_cast<uint32_t>(random() % 40));
      const uint64_t n_missing = r.lease.missing_bytes(n);
      const uint64_t n_free = f.cache.free_bytes();
      if (n_left > 0 && r.lease.extend(n)) {
        ASSERT_TRUE(has_windows || n_free >= n_missing);
        const Tokens prefix(r.tokens.begin(), r.tokens.begin() + n);
        f.compute(&r.lease, prefix, r.n_done);
        r.lease.commit(prefix);
        r.n_done = n;
        ASSERT_TRUE(f.arena.holds(r.lease.pages(), r.tokens, n));
        twin.known.push_back(prefix);
      } else if (n_left > 0) {
        ASSERT_TRUE(has_windows || n_free < n_missing);
      }
    } else if (!running.empty()) {
      running.erase(running.begin() + static_cast<ptrdiff_t>(random() % running.size()));
    }
    const Status status = f.cache.check_integrity();
    ASSERT_TRUE(status) << status.error().message << " after operation " << i;
  }
}

TEST(Cache, RandomOperationsWithEviction) { random_operations({.n_pages = 24}, 10000, true); }
TEST(Cache, RandomOperationsFindTheLongestPrefix) {
  random_operations({.n_pages = 2000}, 600, false);
}
// The arena checks at each step that all that the windows see is there.
TEST(Cache, RandomOperationsWithWindows) {
  random_operations(
      {.n_pages = 40, .classes = {{0, 1}, {20, 3}, {50, 2}}, .memory_bytes = 70, .step_tokens = 40},
      10000, true);
  random_operations(
      {.n_pages = 2000, .classes = {{0, 1}, {33, 5}}, .memory_bytes = 12000, .step_tokens = 40},
      600, false);
}
TEST(Cache, RandomOperationsWithWindowsOnly) {
  random_operations({.n_pages = 40, .classes = {{48, 2}}, .memory_bytes = 60, .step_tokens = 40},
                    10000, true);
}

// Windows of 64 tokens beside layers that see all; a page takes 1 + 9 bytes.
CacheOptions windowed(uint64_t memory_bytes) {
  return {.n_pages = 100,
          .classes = {{0, 1}, {64, 9}},
          .memory_bytes = memory_bytes,
          .step_tokens = 32};
}

TEST(Cache, WhatAWindowHasPassedMakesRoom) {
  CacheFixture f(windowed(100));
  const Tokens tokens = iota(20 * 32);
  Lease lease = f.cache.match_prefix(tokens, 0);
  for (uint32_t n = 32; n <= tokens.size(); n += 32) {
    ASSERT_TRUE(lease.extend(n)) << n;  // 20 whole pages would take 200
    f.compute(&lease, Tokens(tokens.begin(), tokens.begin() + n), n - 32);
    lease.commit(std::span(tokens).first(n));
    ASSERT_LE(f.cache.resident_bytes(), 100u);
    f.check();
  }
  // 20 parts that see all, and the two that the next token's window reaches.
  EXPECT_EQ(f.cache.free_bytes(), 100u - 20 - 2 * 9);
  EXPECT_EQ(sequence_bytes(windowed(0), tokens.size()), 20u + 4 * 9);
  lease = Lease();
  EXPECT_EQ(f.hit(tokens), 640u);                                      // where it ended
  EXPECT_EQ(f.hit(Tokens(tokens.begin(), tokens.begin() + 320)), 0u);  // passed
}

TEST(Cache, WithoutNeedNothingIsDroppedAndHitsEndAnywhere) {
  CacheFixture f(windowed(1000));
  f.run(iota(640));
  EXPECT_EQ(f.hit(iota(333)), 333u);
  EXPECT_EQ(f.arena.n_drops, 0);
}

// Another session with the same beginning: computed again once, and then it stays.
TEST(Cache, WhereSequencesForkTheWindowStays) {
  CacheFixture f(windowed(90));
  const auto session = [&](TokenId own) {
    Tokens tokens = iota(8 * 32);
    for (int i = 0; i < 8 * 32; ++i) tokens.push_back(own + i);
    Lease lease = f.cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size()) - 1);
    const uint32_t n_cached = lease.n_cached();
    for (uint32_t n = n_cached; n < tokens.size();) {
      const uint32_t end = std::min(static_cast<uint32_t>(tokens.size()), n + 32);
      EXPECT_TRUE(lease.extend(end));
      f.compute(&lease, Tokens(tokens.begin(), tokens.begin() + end), n);
      lease.commit(std::span(tokens).first(end));
      n = end;
    }
    f.check();
    return n_cached;
  };
  EXPECT_EQ(session(1000), 0u);
  EXPECT_EQ(session(2000), 0u);  // the windows at the fork have been passed
  EXPECT_EQ(session(3000), 256u);
  EXPECT_EQ(session(4000), 256u);
}

// The next turn goes on from the last whole page, whose window reaches further back.
TEST(Cache, WhereASequenceEndedTheWindowStays) {
  CacheFixture f(windowed(1000));
  f.run(iota(639));
  EXPECT_EQ(f.cache.give_back(1), 9u);
  EXPECT_EQ(f.hit(iota(639)), 639u);
}

TEST(Cache, GivenBackFirstIsWhatWindowsHavePassed) {
  CacheFixture f(windowed(1000));
  f.run(iota(320));
  EXPECT_EQ(f.cache.resident_bytes(), 100u);
  EXPECT_EQ(f.cache.give_back(9 * 8), 9u * 8);
  EXPECT_EQ(f.hit(iota(320)), 320u);
  EXPECT_GE(f.cache.give_back(1), 1u);  // now a page
  EXPECT_LT(f.hit(iota(320)), 320u);
  f.check();
}

}  // namespace
}  // namespace tempo9::kv
