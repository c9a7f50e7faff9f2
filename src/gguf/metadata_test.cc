#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "gguf/test_writer.h"

namespace tempo9::gguf {
namespace {

class MetadataTest : public testing::Test {
 protected:
  MetadataTest() : file_(File::from_bytes(rich_file().build(), "rich.gguf").value()) {}
  File file_;
};

// Runs the read and checks what is said.
template <typename T>
void expect_error(const Result<T>& result, std::string_view message) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(result.error().message, message);
}

TEST_F(MetadataTest, NumbersConvertWhereNothingIsLost) {
  EXPECT_EQ(file_.get_uint("k.u8").value(), 200u);
  EXPECT_EQ(file_.get_uint("k.u64").value(), UINT64_MAX);
  EXPECT_EQ(file_.get_float("k.i32").value(), -2e9);
  EXPECT_EQ(file_.get_float("k.u16").value(), 60000.0);
  EXPECT_EQ(file_.get_float("k.f64").value(), 0.1);
  EXPECT_EQ(file_.get_bool("k.true").value(), true);
  EXPECT_EQ(file_.get_ints("a.bool").value(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(file_.get_floats("a.i32").value(), (std::vector<double>{-1, 0, 7}));
  EXPECT_EQ(file_.get_ints("a.u32").value(), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(MetadataTest, ErrorsNameTheKeyAndBothKinds) {
  expect_error(
      file_.get_uint("nope"),
      "rich.gguf: metadata \"nope\" is missing, expected a whole number that is not negative");
  expect_error(
      file_.get_uint("k.i8"),
      "rich.gguf: metadata \"k.i8\" is i8 -100, expected a whole number that is not negative");
  expect_error(
      file_.get_uint("k.f32"),
      "rich.gguf: metadata \"k.f32\" is f32, expected a whole number that is not negative");
  expect_error(file_.get_float("general.architecture"),
               "rich.gguf: metadata \"general.architecture\" is string, expected a number");
  expect_error(file_.get_bool("k.u8"), "rich.gguf: metadata \"k.u8\" is u8, expected a bool");
  expect_error(file_.get_string("a.strings"),
               "rich.gguf: metadata \"a.strings\" is [string] of 3 elements, expected a string");
  expect_error(
      file_.get_strings("a.i32"),
      "rich.gguf: metadata \"a.i32\" is [i32] of 3 elements, expected an array of strings");
  expect_error(
      file_.get_strings("general.architecture"),
      "rich.gguf: metadata \"general.architecture\" is string, expected an array of strings");
  expect_error(file_.get_ints("a.f32"),
               "rich.gguf: metadata \"a.f32\" is [f32] of 2 elements, expected an array of whole "
               "numbers below 2^63 or "
               "of bools");
}

TEST_F(MetadataTest, FallbacksAreForAbsentKeysOnly) {
  EXPECT_EQ(file_.get_uint("nope", 7).value(), 7u);
  EXPECT_EQ(file_.get_float("nope", 0.5).value(), 0.5);
  EXPECT_EQ(file_.get_bool("nope", true).value(), true);
  EXPECT_EQ(file_.get_string("nope", "x").value(), "x");
  EXPECT_EQ(file_.get_uint("k.u8", 7).value(), 200u);
  EXPECT_FALSE(file_.get_uint("general.architecture", 7).has_value());
  EXPECT_FALSE(file_.get_bool("k.u8", true).has_value());
}

TEST_F(MetadataTest, AbsentArraysAreEmptyAndEmptyOnesFitAnyKind) {
  EXPECT_TRUE(file_.get_strings("nope").value().empty());
  EXPECT_TRUE(file_.get_floats("nope").value().empty());
  EXPECT_TRUE(file_.get_strings("a.empty").value().empty());
}

TEST_F(MetadataTest, PerLayerTakesAScalarOrAnArray) {
  EXPECT_EQ(file_.get_per_layer("k.u8", 3, 1).value(), (std::vector<uint64_t>{200, 200, 200}));
  EXPECT_EQ(file_.get_per_layer("a.u32", 3, 1).value(), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(file_.get_per_layer("a.u32", 2, 1).value(), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(file_.get_per_layer("nope", 2, 9).value(), (std::vector<uint64_t>{9, 9}));
  expect_error(file_.get_per_layer("a.u32", 4, 1),
               "rich.gguf: metadata \"a.u32\" is [u32] of 3 elements, expected a whole number that "
               "is not negative, or "
               "an array of at least 4 of them");
  EXPECT_FALSE(file_.get_per_layer("a.i32", 3, 1).has_value());  // holds -1
  EXPECT_FALSE(file_.get_per_layer("general.architecture", 3, 1).has_value());
}

}  // namespace
}  // namespace tempo9::gguf
