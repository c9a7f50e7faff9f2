#include "engine/random_bits.h"

#include <gtest/gtest.h>

#include <set>

namespace tempo9::engine {
namespace {

TEST(RandomBits, DoNotRepeat) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random_bits());
  }
  EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace tempo9::engine
