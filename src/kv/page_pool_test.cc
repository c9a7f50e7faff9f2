#include "kv/page_pool.h"

#include <gtest/gtest.h>

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

TEST(PagePool, RandomOperationsAgainstANaiveTwin) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr uint32_t kPages = 17;
  PagePool pool(kPages);
  std::list<PageId> free_list;
  std::vector<uint32_t> holders(kPages, 0);
  for (PageId page = 0; page < kPages; ++page) {
    free_list.push_back(page);
  }
  for (int i = 0; i < 10000; ++i) {
    const auto page = static_cast<PageId>(random() % kPages);
    switch (random() % 4) {
      case 0: {
        const PageId expected = free_list.empty() ? kNoPage : free_list.front();
        ASSERT_EQ(pool.take(), expected);
        if (expected != kNoPage) {
          free_list.pop_front();
          ++holders[expected];
        }
        break;
      }
      case 1:
        pool.hold(page);
        free_list.remove(page);
        ++holders[page];
        break;
      default:
        if (holders[page] > 0) {
          const bool keep = random() % 2 == 0;
          pool.release(page, keep);
          if (--holders[page] == 0) {
            free_list.insert(keep ? free_list.end() : free_list.begin(), page);
          }
        }
    }
    ASSERT_EQ(pool.n_free(), free_list.size());
    ASSERT_EQ(pool.n_holders(page), holders[page]);
    const Status status = pool.check_integrity();
    ASSERT_TRUE(status) << status.error().message;
  }
}

}  // namespace
}  // namespace tempo9::kv
