#include "base/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tempo9 {
namespace {

// The C library in extended precision is the outside authority: its error is far below a double's
// last bit.
double ulps_off(double value, long double expected) {
  const auto rounded = static_cast<double>(expected);
  const double ulp = std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(value) - expected) / ulp);
}

TEST(Math, ExpIsWithinOneUlp) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> wide(-700.0, 700.0), narrow(-2.0, 2.0);
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 == 0 ? wide(random) : narrow(random);
    ASSERT_LT(ulps_off(portable_exp(x), std::exp(static_cast<long double>(x))), 1.01) << x;
  }
}

TEST(Math, LogIsWithinOneUlp) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-700.0, 700.0), near_one(0.5, 2.0);
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 == 0 ? std::exp(exponent(random)) : near_one(random);
    ASSERT_LT(ulps_off(portable_log(x), std::log(static_cast<long double>(x))), 1.01) << x;
  }
}

TEST(Math, Edges) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_exp(-inf), 0.0);
  EXPECT_EQ(portable_exp(-709.0), 0.0);
  EXPECT_EQ(portable_exp(inf), inf);
  EXPECT_TRUE(std::isnan(portable_exp(NAN)));
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_log(0.0), -inf);
  EXPECT_EQ(portable_log(inf), inf);
  EXPECT_TRUE(std::isnan(portable_log(-1.0)));
  EXPECT_NEAR(portable_log(5e-324), -744.4400719213812, 1e-12);
}

}  // namespace
}  // namespace tempo9
