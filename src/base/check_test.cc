#include "base/check.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tempo9 {
namespace {

TEST(CheckDeathTest, FalseSaysWhatAndWhereAndAborts) {
  const int n_pages = 3;
  EXPECT_DEATH(T9_CHECK(n_pages == 4),
               "check_test.cc:[0-9]+: impossible state: n_pages == 4 is false");
}

TEST(Check, TrueDoesNothingAndEvaluatesOnce) {
  int n_calls = 0;
  T9_CHECK(++n_calls == 1);
  EXPECT_EQ(n_calls, 1);
}

TEST(CheckDeathTest, TheHostsHandlerIsAskedFirst) {
  const auto leave = [](const char*, int, const char* expression) {
    std::exit(expression[0] == '1' ? 7 : 8);
  };
  EXPECT_EXIT(
      {
        set_check_handler(leave);
        T9_CHECK(1 == 2);
      },
      testing::ExitedWithCode(7), "");
}

TEST(CheckDeathTest, AHandlerThatReturnsDoesNotLetTheProgramGoOn) {
  EXPECT_DEATH(
      {
        set_check_handler([](const char*, int, const char*) {});
        T9_CHECK(1 == 2);
      },
      "impossible state");
}

TEST(CheckDeathTest, DcheckIsForDebugBuilds) {
#ifdef NDEBUG
  T9_DCHECK(1 == 2);
#else
  EXPECT_DEATH(T9_DCHECK(1 == 2), "impossible state");
#endif
}

}  // namespace
}  // namespace tempo9
