#include "base/percent.h"

#include <gtest/gtest.h>

namespace tempo9 {
namespace {

TEST(Percent, Decoding) {
  EXPECT_EQ(percent_decode("a%2Fb:c"), "a/b:c");
  EXPECT_EQ(percent_decode("a%2fb%20+"), "a/b +");
  EXPECT_EQ(percent_decode("%E2%82%AC"), "\xE2\x82\xAC");
  EXPECT_EQ(percent_decode("100%"), "100%");
  EXPECT_EQ(percent_decode("%zz%4"), "%zz%4");
  EXPECT_EQ(percent_decode("%00"), std::string(1, '\0'));
  EXPECT_EQ(percent_decode("a%25b%7e%"), "a%b~%");
}

}  // namespace
}  // namespace tempo9
