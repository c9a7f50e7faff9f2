#include "kv/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kv/testing/fake_arena.h"

namespace tempo9::kv {
namespace {

using Tokens = std::vector<TokenId>;
using testing::FakeArena;

struct Fixture {
  explicit Fixture(uint32_t n_pages) : arena(n_pages), cache(n_pages, {1, 2}, &arena) {}

  void run(const Tokens& tokens) {
    Lease lease = cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size()) - 1);
    ASSERT_TRUE(lease.extend(static_cast<uint32_t>(tokens.size())));
    compute(&lease, tokens, lease.n_cached());
    lease.commit(tokens);
    check();
  }
  void compute(Lease* lease, const Tokens& tokens, uint32_t from) {
    arena.compute(lease->pages(), from, std::span(tokens).subspan(from));
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

Tokens iota(size_t n, TokenId first = 0) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(Cache, HitsEndAtAnyToken) {
  Fixture f(16);
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
  Fixture f(16);
  const Tokens first = iota(50);
  Tokens second = iota(40);
  second.resize(70, 7);
  Lease a = f.cache.match_prefix(first, 49);
  ASSERT_TRUE(a.extend(50));
  f.compute(&a, first, 0);
  a.commit(first);
  Lease b = f.cache.match_prefix(second, 69);
  EXPECT_EQ(b.n_cached(), 40u);
  EXPECT_EQ(b.n_missing_pages(70), 2u);
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
  Fixture f(16);
  const Tokens tokens = iota(64);
  Lease a = f.cache.match_prefix(tokens, 0), b = f.cache.match_prefix(tokens, 0);
  ASSERT_TRUE(a.extend(64));
  ASSERT_TRUE(b.extend(64));
  f.compute(&a, tokens, 0);
  f.compute(&b, tokens, 0);
  EXPECT_EQ(f.cache.n_free_pages(), 12u);
  a.commit(tokens);
  b.commit(tokens);
  EXPECT_EQ(f.cache.n_free_pages(), 14u);
  EXPECT_TRUE(std::ranges::equal(a.pages(), b.pages()));
  f.check();
}

TEST(Cache, TailsAreEvictedBeforeHeadsAndOldBeforeNew) {
  Fixture f(6);
  f.run(iota(96));        // three pages
  f.run(iota(96, 1000));  // three more
  f.run(iota(32, 2000));  // takes the first one's last page
  EXPECT_EQ(f.hit(iota(96)), 64u);
  EXPECT_EQ(f.hit(iota(96, 1000)), 96u);
}

TEST(Cache, WhatUsesAPrefixIsEvictedBeforeIt) {
  Fixture f(10);
  f.run(iota(160));  // five pages
  Tokens branch = iota(64);
  branch.resize(160, 7);
  f.run(branch);           // shares two of them
  f.run(iota(128, 5000));  // takes the oldest first: the first one's own tail
  EXPECT_EQ(f.hit(iota(160)), 96u);
  EXPECT_EQ(f.hit(branch), 160u);
}

TEST(Cache, MemoryGoesBackOldestFirstAndIsForgotten) {
  Fixture f(16);
  f.run(iota(96));
  f.run(iota(96, 1000));
  EXPECT_EQ(f.cache.n_warm_pages(), 6u);
  EXPECT_EQ(f.cache.give_back(2), 2u);
  EXPECT_EQ(f.arena.n_drops, 2);
  EXPECT_EQ(f.hit(iota(96)), 32u);
  EXPECT_EQ(f.hit(iota(96, 1000)), 96u);
  EXPECT_EQ(f.cache.n_free_pages(), 16u);
  f.check();
  const Lease held = f.cache.match_prefix(iota(96, 1000), 96);
  EXPECT_EQ(f.cache.give_back(100), 1u);  // what is held stays
  EXPECT_EQ(f.cache.n_resident_pages(), 3u);
  f.check();
}

TEST(Cache, HitsAreCountedByWhereTheyWere) {
  Fixture f(16);
  f.run(iota(96));
  EXPECT_EQ(f.cache.match_prefix(iota(70), 70).cached(), (CachedTokens{.ram = 70}));
  const Lease held = f.cache.match_prefix(iota(64), 64);
  EXPECT_EQ(f.cache.match_prefix(iota(96), 95).cached(), (CachedTokens{.live = 64, .ram = 31}));
  {
    Lease lease = f.cache.pin_prefix(iota(64, 500));
    ASSERT_TRUE(lease.extend(64));
    f.compute(&lease, iota(64, 500), 0);
    lease.commit(iota(64, 500), Origin::kDisk);
  }
  EXPECT_EQ(f.cache.pin_prefix(iota(64, 500)).cached(), (CachedTokens{.disk = 64}));
  EXPECT_EQ(f.cache.match_prefix(iota(64, 500), 64).cached(), (CachedTokens{.disk = 64}));
  EXPECT_EQ(f.cache.match_prefix(iota(64, 500), 64).cached(), (CachedTokens{.ram = 64}));
}

TEST(Cache, WholePagesAreListedOnceInOrder) {
  Fixture f(16);
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
  Fixture f(3);
  Lease a = f.cache.match_prefix(iota(10), 0);
  ASSERT_TRUE(a.extend(33));
  Lease b = f.cache.match_prefix(iota(10), 0);
  EXPECT_FALSE(b.extend(33));
  EXPECT_TRUE(b.pages().empty());
  EXPECT_TRUE(b.extend(32));
  EXPECT_EQ(f.cache.n_free_pages(), 0u);
  a = Lease();
  EXPECT_EQ(f.cache.n_free_pages(), 2u);
  Lease moved = std::move(b);
  moved = Lease();
  EXPECT_EQ(f.cache.n_free_pages(), 3u);
  f.check();
}

TEST(Cache, OneSequenceCanAlwaysUseTheWholePool) {
  Fixture f(2);
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
void random_operations(uint32_t n_pages, int n_operations, bool evicts) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Fixture f(n_pages);
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
      const uint32_t n_missing = r.lease.n_missing_pages(n);
      const uint32_t n_free = f.cache.n_free_pages();
      if (n_left > 0 && r.lease.extend(n)) {
        ASSERT_GE(n_free, n_missing);
        const Tokens prefix(r.tokens.begin(), r.tokens.begin() + n);
        f.compute(&r.lease, prefix, r.n_done);
        r.lease.commit(prefix);
        r.n_done = n;
        ASSERT_TRUE(f.arena.holds(r.lease.pages(), r.tokens, n));
        twin.known.push_back(prefix);
      } else if (n_left > 0) {
        ASSERT_LT(n_free, n_missing);
      }
    } else if (!running.empty()) {
      running.erase(running.begin() + static_cast<ptrdiff_t>(random() % running.size()));
    }
    const Status status = f.cache.check_integrity();
    ASSERT_TRUE(status) << status.error().message << " after operation " << i;
  }
}

TEST(Cache, RandomOperationsWithEviction) { random_operations(24, 10000, true); }
TEST(Cache, RandomOperationsFindTheLongestPrefix) { random_operations(2000, 600, false); }

}  // namespace
}  // namespace tempo9::kv
