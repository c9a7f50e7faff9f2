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
  const auto choose = [](Length length, uint64_t memory_mib) {
    return choose_capacity(std::move(length), {.max_batch = 4,
                                               .max_rows = 64,
                                               .classes = {{0, 1 << 20}},
                                               .memory_bytes = memory_mib << 20});
  };
  const auto all = choose({1000, ""}, 1 << 20);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->cache.n_pages, 4u * 32u);
  const auto some = choose({1000, ""}, 50);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->cache.n_pages, 50u);
  EXPECT_EQ(some->length.max_length, 1000u);
  EXPECT_EQ(some->length.warning, "");
  const auto less = choose({1000, "first"}, 20);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->length.max_length, 640u);
  EXPECT_TRUE(less->length.warning.starts_with("first; memory holds 640 tokens of the 1000"));
  const auto none = choose({1000, ""}, 8);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(none.error().message.find("enough for 256 tokens"), std::string::npos);
}

TEST(BuildOptions, ARefusalSaysWhatIsLeftWhatIsNeededAndWhatFits) {
  constexpr uint64_t kMib = uint64_t{1} << 20;
  MemoryBudget budget;
  budget.need = budget.need_q8 = {.weight_bytes = 100 * kMib,
                                  .cache = {.classes = {{0, kMib}}, .step_tokens = 64}};
  budget.length = budget.declared = 3200;
  budget.available = budget.limit = 1000 * kMib;
  budget.is_capped = true;
  EngineOptions options;
  options.max_length = 3200;
  options.max_batch = 2;
  const auto enough = capacity_within(budget, options);
  ASSERT_TRUE(enough);
  EXPECT_EQ(enough->length.warning, "");

  budget.available = 300 * kMib;  // the cap would do
  const auto others_have_it = capacity_within(budget, options);
  ASSERT_TRUE(others_have_it);
  EXPECT_TRUE(others_have_it->length.warning.starts_with("memory: weights 100 MiB + KV cache"))
      << others_have_it->length.warning;

  budget.available = 1000 * kMib;
  budget.limit = 360 * kMib;
  const auto refused = capacity_within(budget, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  for (const char* part :
       {"4 MiB are left for the KV cache", "enough for 128 tokens", "weights 100 MiB + KV cache",
        "--memory allows 360 MiB", "what fits: "}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
}

// Layers with windows cost a long request no more than a short one.
TEST(BuildOptions, WindowsLeaveRoomForLongerRequests) {
  const CapacityAsked asked{.max_batch = 2,
                            .max_rows = 64,
                            .classes = {{0, 1 << 20}, {128, 9 << 20}},
                            .memory_bytes = uint64_t{200} << 20};
  // Pages that a window of 128 and a step of 64 reach: 7, 63 MiB; 137 MiB are left for the others.
  const auto capacity = choose_capacity({32 * 200, ""}, asked);
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->length.max_length, 32u * 137);
  EXPECT_EQ(capacity->cache.n_pages, 200u);
  EXPECT_EQ(capacity->cache.memory_bytes, uint64_t{200} << 20);
}

// Of recurrent layers: each request needs one, however long it is.
TEST(BuildOptions, AStateIsCountedBesideThePages) {
  const CapacityAsked asked{.max_batch = 2,
                            .max_rows = 64,
                            .classes = {{0, 1 << 20}},
                            .state_bytes = uint64_t{50} << 20,
                            .memory_bytes = uint64_t{200} << 20};
  const auto capacity = choose_capacity({32 * 200, ""}, asked);
  ASSERT_TRUE(capacity);
  EXPECT_EQ(capacity->length.max_length, 32u * 150);
  EXPECT_EQ(capacity->cache.state_bytes, uint64_t{50} << 20);
  EXPECT_EQ(capacity->cache.n_states, 12u + 4);  // names for requests, and as many as memory holds
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
            "--kv-type: found f8, expected i16, q8_0, f16 or f32");
  options.kv_type = "i16";
  options.pooling = "max";
  EXPECT_EQ(check_options(options).error().message,
            "--pooling: found max, expected mean, last or cls");
  options = {};
  EXPECT_NE(check_options(options).error().message.find("--gguf"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::engine
