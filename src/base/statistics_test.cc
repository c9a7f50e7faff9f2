#include "base/statistics.h"

#include <gtest/gtest.h>

namespace tempo9 {
namespace {

TEST(Summarize, MedianAndRange) {
  struct Case {
    std::vector<double> values;
    double median, lowest, highest;
  };
  for (const Case& c : {Case{{7}, 7, 7, 7},
                        {{2, 1}, 1.5, 1, 2},
                        {{9, -1, 4}, 4, -1, 9},
                        {{100, 1, 3, 2}, 2.5, 1, 100},
                        {{5, 5, 5, 1, 5}, 5, 1, 5}}) {
    const Summary summary = summarize(c.values);
    EXPECT_EQ(summary.median, c.median);
    EXPECT_EQ(summary.lowest, c.lowest);
    EXPECT_EQ(summary.highest, c.highest);
  }
}

}  // namespace
}  // namespace tempo9
