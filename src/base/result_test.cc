#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace tempo9 {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') {
    return make_error(ErrorCode::kInvalidArgument, "digit: found '{}', expected 0 to 9", c);
  }
  return c - '0';
}

Result<std::unique_ptr<int>> boxed(char c) {
  T9_TRY(const int digit, parse_digit(c));
  return std::make_unique<int>(digit);
}

Status only_digits(char a, char b) {
  T9_TRY(parse_digit(a));
  T9_TRY(auto box, boxed(b));
  return {};
}

TEST(Result, TryUnwrapsAValueAndMovesIt) {
  const auto box = boxed('7');
  ASSERT_TRUE(box);
  EXPECT_EQ(**box, 7);
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_TRUE(only_digits('1', '2'));
  const auto status = only_digits('1', 'x');
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "digit: found 'x', expected 0 to 9");
}

}  // namespace
}  // namespace tempo9
