#include <gtest/gtest.h>

#include "engine/build.h"

namespace tempo9::engine {
namespace {

TEST(BuildOptions, LengthIsTheSmallerOf32768AndTheFilesUnlessAsked) {
  EXPECT_EQ(choose_length(0, 131072).max_length, 32768u);
  EXPECT_EQ(choose_length(0, 2048).max_length, 2048u);
  EXPECT_EQ(choose_length(1000, 2048).max_length, 1000u);
  EXPECT_EQ(choose_length(1000, 2048).warning, "");
  const Length above = choose_length(4096, 2048);
  EXPECT_EQ(above.max_length, 4096u);
  EXPECT_NE(above.warning.find("4096"), std::string::npos);
  EXPECT_NE(above.warning.find("2048"), std::string::npos);
}

TEST(BuildOptions, PagesForTheBatchAsFarAsMemoryGoes) {
  const auto all = choose_capacity({1000, ""}, 4, 1 << 20, uint64_t{1} << 40);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->n_pages, 4u * 32u);
  const auto some = choose_capacity({1000, ""}, 4, 1 << 20, uint64_t{50} << 20);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->n_pages, 50u);
  EXPECT_EQ(some->length.max_length, 1000u);
  EXPECT_EQ(some->length.warning, "");
  const auto less = choose_capacity({1000, "first"}, 4, 1 << 20, uint64_t{20} << 20);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->length.max_length, 640u);
  EXPECT_TRUE(less->length.warning.starts_with("first; memory holds 640 tokens of the 1000"));
  const auto none = choose_capacity({1000, ""}, 4, 1 << 20, uint64_t{8} << 20);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(none.error().message.find("--memory"), std::string::npos);
}

TEST(BuildOptions, WrongOptionsAreNamed) {
  EngineOptions options;
  options.script_path = "s";
  EXPECT_TRUE(check_options(options));
  options.max_batch = 0;
  EXPECT_TRUE(check_options(options).error().message.starts_with("--max-batch: found 0"));
  options.max_batch = 16;
  options.kv_type = "f8";
  EXPECT_EQ(check_options(options).error().message,
            "--kv-type: found f8, expected i16, f16 or f32");
  options = {};
  EXPECT_NE(check_options(options).error().message.find("--gguf"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::engine
