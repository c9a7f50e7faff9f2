#include "tokenizer/special_matcher.h"

#include <gtest/gtest.h>

namespace tempo9::tokenizer {
namespace {

SpecialMatcher matcher() {
  SpecialMatcher m;
  m.reserve(100);
  m.add("<a>", 1, false);
  m.add("<a>b", 2, false);
  m.add("<a>bcd", 3, true);
  m.add("\n\n", 4, false);
  m.add("\n", 5, false);
  m.add("", 6, false);
  m.add("<a>", 7, false);
  return m;
}

TEST(SpecialMatcher, LeftmostThenLongest) {
  const SpecialMatcher m = matcher();
  const auto match = m.find("x<a>bc<a>", 0, false);
  EXPECT_EQ(match.id, 2);
  EXPECT_EQ(match.begin, 1u);
  EXPECT_EQ(match.end, 5u);
  EXPECT_EQ(m.find("x<a>bc<a>", 5, false).id, 1);
  EXPECT_EQ(m.find("\n\n\n", 0, false).id, 4);
}

TEST(SpecialMatcher, ControlOnlyWhereAskedFor) {
  const SpecialMatcher m = matcher();
  EXPECT_EQ(m.find("<a>bcd", 0, false).id, 2);
  EXPECT_EQ(m.find("<a>bcd", 0, true).id, 3);
}

TEST(SpecialMatcher, NothingFound) {
  const SpecialMatcher m = matcher();
  EXPECT_EQ(m.find("", 0, true).id, -1);
  EXPECT_EQ(m.find("<a", 0, true).id, -1);
  EXPECT_EQ(m.find("<a>", 1, true).id, -1);
  EXPECT_EQ(SpecialMatcher().find("<a>", 0, true).id, -1);
}

}  // namespace
}  // namespace tempo9::tokenizer
