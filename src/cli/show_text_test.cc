#include "cli/show_text.h"

#include <gtest/gtest.h>

namespace tempo9::cli {
namespace {

TEST(ShowText, GroupsDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(494032768), "494,032,768");
}

TEST(ShowText, SizesInUnits) {
  EXPECT_EQ(byte_size(1023), "1023 bytes");
  EXPECT_EQ(byte_size(1024), "1.0 KiB");
  EXPECT_EQ(byte_size(491400064), "468.6 MiB");
  EXPECT_EQ(byte_size(5ull << 40), "5.0 TiB");
  EXPECT_EQ(byte_size(5000ull << 40), "5000.0 TiB");
}

TEST(ShowText, ValuesOnOneLine) {
  EXPECT_EQ(value_text(gguf::Value(uint64_t{7}), "u32"), "7");
  EXPECT_EQ(value_text(gguf::Value(int64_t{-7}), "i8"), "-7");
  EXPECT_EQ(value_text(gguf::Value(static_cast<double>(1e-6f)), "f32"), "1e-06");
  EXPECT_EQ(value_text(gguf::Value(0.1), "f64"), "0.1");
  EXPECT_EQ(value_text(gguf::Value(true), "bool"), "true");
  EXPECT_EQ(value_text(gguf::Value(std::string("a\n\x1B")), "string"), "\"a\\n\\x1B\"");
  EXPECT_EQ(value_text(gguf::Value(std::string(1000, 'x')), "string"),
            "\"" + std::string(72, 'x') + "...\" (1,000 bytes)");
}

TEST(ShowText, LongArraysAreCutAndCounted) {
  gguf::Array array;
  array.values = std::vector<int64_t>{1, 2};
  EXPECT_EQ(value_text(gguf::Value(array), "[i32]"), "[1, 2]");
  array.values = std::vector<std::string>(151936, "tok");
  EXPECT_EQ(value_text(gguf::Value(array), "[string]"),
            "[\"tok\", \"tok\", \"tok\", \"tok\", \"tok\", \"tok\", ... 151,936 in all]");
  gguf::Array inner;
  inner.values = std::vector<bool>{true, false};
  array.values = std::vector<gguf::Array>{inner, inner};
  EXPECT_EQ(value_text(gguf::Value(array), "[array]"), "[[true, false], [true, false]]");
}

}  // namespace
}  // namespace tempo9::cli
