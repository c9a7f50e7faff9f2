#include "kv/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tempo9::kv {
namespace {

using Tokens = std::vector<TokenId>;

// Stands for the arena: each position holds a hash of all tokens up to it, as real KV does in effect.
class FakeArena final : public PageCopier {
 public:
  explicit FakeArena(uint32_t n_pages) : cells_(size_t{n_pages} * kPageTokens, 0) {}

  void copy_page(PageId from, PageId to, uint32_t n_tokens) override {
    ASSERT_NE(from, to);
    ++n_copies;
    std::copy_n(cell(from, 0), n_tokens, cell(to, 0));
  }
  void compute(const Lease& lease, const Tokens& tokens, size_t from) {
    uint64_t hash = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      hash = step(hash, tokens[i]);
      if (i >= from) {
        *cell(lease.pages()[i / kPageTokens], i % kPageTokens) = hash;
      }
    }
  }
  // Whether the first n positions hold what computing them would give.
  bool holds(const Lease& lease, const Tokens& tokens, size_t n) {
    uint64_t hash = 0;
    for (size_t i = 0; i < n; ++i) {
      hash = step(hash, tokens[i]);
      if (*cell(lease.pages()[i / kPageTokens], i % kPageTokens) != hash) {
        return false;
      }
    }
    return true;
  }
  int n_copies = 0;

 private:
  static uint64_t step(uint64_t hash, TokenId token) {
    return (hash ^ static_cast<uint64_t>(token + 1)) * 0x9E3779B97F4A7C15u + 1;
  }
  uint64_t* cell(PageId page, size_t i) { return &cells_[size_t{page} * kPageTokens + i]; }
  std::vector<uint64_t> cells_;
};

struct Fixture {
  explicit Fixture(uint32_t n_pages) : arena(n_pages), cache(n_pages, {1, 2}, &arena) {}

  void run(const Tokens& tokens) {
    Lease lease = cache.match_prefix(tokens, static_cast<uint32_t>(tokens.size()) - 1);
    ASSERT_TRUE(lease.extend(static_cast<uint32_t>(tokens.size())));
    arena.compute(lease, tokens, lease.n_cached());
    lease.commit(tokens);
    check();
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
  f.arena.compute(a, first, 0);
  a.commit(first);
  Lease b = f.cache.match_prefix(second, 69);
  EXPECT_EQ(b.n_cached(), 40u);
  EXPECT_EQ(b.n_missing_pages(70), 2u);
  ASSERT_TRUE(b.extend(70));
  EXPECT_EQ(f.arena.n_copies, 1);
  EXPECT_EQ(b.pages()[0], a.pages()[0]);
  EXPECT_NE(b.pages()[1], a.pages()[1]);
  f.arena.compute(b, second, 40);
  b.commit(second);
  EXPECT_TRUE(f.arena.holds(a, first, 50));
  EXPECT_TRUE(f.arena.holds(b, second, 70));
  f.check();
}

TEST(Cache, EqualPagesBecomeOne) {
  Fixture f(16);
  const Tokens tokens = iota(64);
  Lease a = f.cache.match_prefix(tokens, 0), b = f.cache.match_prefix(tokens, 0);
  ASSERT_TRUE(a.extend(64));
  ASSERT_TRUE(b.extend(64));
  f.arena.compute(a, tokens, 0);
  f.arena.compute(b, tokens, 0);
  EXPECT_EQ(f.cache.n_free_pages(), 12u);
  a.commit(tokens);
  b.commit(tokens);
  EXPECT_EQ(f.cache.n_free_pages(), 14u);
  EXPECT_TRUE(std::ranges::equal(a.pages(), b.pages()));
  f.check();
}

TEST(Cache, TailsAreEvictedBeforeHeadsAndOldBeforeNew) {
  Fixture f(6);
  f.run(iota(96));         // three pages
  f.run(iota(96, 1000));   // three more
  f.run(iota(32, 2000));   // takes the first one's last page
  EXPECT_EQ(f.hit(iota(96)), 64u);
  EXPECT_EQ(f.hit(iota(96, 1000)), 96u);
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
  Tokens tokens;       // all that it will hold
  uint32_t n_done = 0;
};

// With a large pool hits must be as long as the twin's; with a small one they may be shorter, but never wrong.
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
        f.arena.compute(r.lease, prefix, r.n_done);
        r.lease.commit(prefix);
        r.n_done = n;
        ASSERT_TRUE(f.arena.holds(r.lease, r.tokens, n));
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
