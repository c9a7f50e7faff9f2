#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

namespace tempo9::kv {
namespace {

TEST(PagePool, FreedPagesComeBackInOrder) {
  PagePool pool(3);
  EXPECT_EQ(pool.take(), 0u);
  EXPECT_EQ(pool.take(), 1u);
  EXPECT_EQ(pool.take(), 2u);
  EXPECT_EQ(pool.take(), kNoPage);
  pool.release(1, true);
  pool.release(0, true);
  pool.release(2, false);
  EXPECT_EQ(pool.n_free(), 3u);
  EXPECT_EQ(pool.take(), 2u);  // nothing worth keeping goes first
  EXPECT_EQ(pool.take(), 1u);  // then the one that has been free the longest
  pool.hold(0);
  EXPECT_EQ(pool.take(), kNoPage);
  EXPECT_TRUE(pool.check_integrity());
}

TEST(PagePool, MemoryIsKnownOfUsedPagesOnly) {
  PagePool pool(1u << 24);
  EXPECT_EQ(pool.n_free(), 1u << 24);
  EXPECT_EQ(pool.n_used(), 0u);
  pool.release(pool.take(), false);
  EXPECT_EQ(pool.take(), 0u);
  EXPECT_EQ(pool.n_used(), 1u);
}

TEST(PagePool, BlankPagesGoBackFirstThenTheOldest) {
  PagePool pool(4);
  for (int i = 0; i < 4; ++i) pool.take();
  pool.release(3, true);
  pool.release(1, true);
  pool.release(2, false);
  EXPECT_EQ(pool.give_back(), 2u);
  EXPECT_EQ(pool.give_back(), 3u);
  EXPECT_EQ(pool.n_resident(), 2u);
  EXPECT_EQ(pool.n_free(), 3u);
  pool.set_thrifty(true);
  EXPECT_EQ(pool.take(), 1u);  // warm before cold
  EXPECT_EQ(pool.give_back(), kNoPage);
  EXPECT_EQ(pool.take(), 3u);
  EXPECT_TRUE(pool.check_integrity());
}

// The twin: what each page is, in plain lists, oldest first.
TEST(PagePool, RandomOperationsAgainstANaiveTwin) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr uint32_t kPages = 17;
  PagePool pool(kPages);
  std::list<PageId> blank, warm, cold;
  std::vector<uint32_t> holders(kPages, 0);
  for (PageId page = kPages; page-- > 0;) cold.push_back(page);
  const auto pop = [](std::list<PageId>* list, bool front) {
    if (list->empty()) return kNoPage;
    const PageId page = front ? list->front() : list->back();
    front ? list->pop_front() : list->pop_back();
    return page;
  };
  for (int i = 0; i < 10000; ++i) {
    const auto page = static_cast<PageId>(random() % kPages);
    const bool thrifty = random() % 2 == 0;
    switch (random() % 5) {
      case 0: {
        pool.set_thrifty(thrifty);
        PageId expected = pop(&blank, false);
        if (expected == kNoPage) expected = thrifty ? pop(&warm, true) : pop(&cold, false);
        if (expected == kNoPage) expected = thrifty ? pop(&cold, false) : pop(&warm, true);
        ASSERT_EQ(pool.take(), expected);
        if (expected != kNoPage) ++holders[expected];
        break;
      }
      case 1: {
        PageId expected = pop(&blank, false);
        if (expected == kNoPage) expected = pop(&warm, true);
        ASSERT_EQ(pool.give_back(), expected);
        if (expected != kNoPage) cold.push_back(expected);
        break;
      }
      case 2:
        if (holders[page] > 0 || std::find(warm.begin(), warm.end(), page) != warm.end()) {
          pool.hold(page);
          warm.remove(page);
          ++holders[page];
        }
        break;
      default:
        if (holders[page] > 0) {
          const bool keep = random() % 2 == 0;
          pool.release(page, keep);
          if (--holders[page] == 0) (keep ? warm : blank).push_back(page);
        }
    }
    ASSERT_EQ(pool.n_free(), blank.size() + warm.size() + cold.size());
    ASSERT_EQ(pool.n_resident(), kPages - cold.size());
    const Status status = pool.check_integrity();
    ASSERT_TRUE(status) << status.error().message;
  }
}

}  // namespace
}  // namespace tempo9::kv
