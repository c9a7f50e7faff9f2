#include "engine/memory_budget.h"

#include <gtest/gtest.h>

namespace tempo9::engine {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Weights of 100 MiB; a page of 32 tokens takes 1 MiB, with q8_0 half of that.
MemoryBudget budget(uint32_t length, uint64_t room_mib) {
  MemoryBudget b;
  b.need = {.weight_bytes = 100 * kMiB, .cache = {.classes = {{0, kMiB}}, .step_tokens = 64}};
  b.need_q8 = b.need;
  b.need_q8.cache.classes = {{0, kMiB / 2}};
  b.length = length;
  b.declared = 32768;
  b.limit = b.available = room_mib * kMiB;
  return b;
}

TEST(MemoryBudget, AddsUp) {
  const MemoryBudget b = budget(3200, 1000);
  EXPECT_EQ(b.needed(), (100 + 256 + 100) * kMiB);
  EXPECT_EQ(b.sum(),
            "weights 100 MiB + KV cache of 3200 tokens 100 MiB + working set 256 MiB = 456 MiB");
  EXPECT_TRUE(b.fits());
  EXPECT_EQ(b.n_requests(), 6u);  // 1000 - 356 = 644
  MemoryBudget with_drafts = b;
  with_drafts.need.draft_bytes = 30 * kMiB;
  EXPECT_EQ(with_drafts.needed(), b.needed());
  EXPECT_EQ(with_drafts.sum().substr(0, 46), "weights 100 MiB (30 MiB of them for drafts) + ");
  EXPECT_EQ(b.longest(), 3200u);
  EXPECT_TRUE(budget(3200, 456).fits());
  EXPECT_FALSE(budget(3200, 455).fits());
}

TEST(MemoryBudget, CountsTheStateOfRecurrentLayers) {
  MemoryBudget b = budget(3200, 1000);
  b.need.cache.state_bytes = 30 * kMiB;
  EXPECT_EQ(b.needed(), (100 + 256 + 100 + 30) * kMiB);
  EXPECT_EQ(b.n_requests(), 4u);  // 644 / 130
}

TEST(MemoryBudget, TheSmallerOfCapAndFreeMemoryCounts) {
  MemoryBudget b = budget(3200, 400);
  EXPECT_EQ(b.longest(), 32u * 44);
  b.available = 380 * kMiB;
  EXPECT_EQ(b.room_text(), "380 MiB are free");
  EXPECT_EQ(b.longest(), 32u * 24);
  b.available = 2000 * kMiB;
  b.is_capped = true;
  EXPECT_EQ(b.room_text(), "--memory allows 400 MiB");
  EXPECT_NE(b.what_fits().find("--memory 456M"), std::string::npos) << b.what_fits();
}

TEST(MemoryBudget, SaysWhatFits) {
  EXPECT_EQ(budget(3200, 400).what_fits(),
            "--max-length 1408, or --kv-type q8_0 with --max-length 2816, or a variant or model "
            "whose weights take at most 44 MiB");
  EXPECT_TRUE(budget(3200, 420).what_fits().starts_with("--max-length 2048, or --kv-type q8_0, or"))
      << budget(3200, 420).what_fits();
  EXPECT_EQ(budget(3200, 300).what_fits(), "a smaller model, or more memory");
  EXPECT_EQ(budget(3200, 300).longest(), 0u);
  EXPECT_EQ(budget(3200, 300).n_requests(), 0u);
}

// What it says fits, fits.
TEST(MemoryBudget, ItsAdviceHolds) {
  for (uint64_t room = 300; room < 480; room += 7) {
    const uint32_t longest = budget(3200, room).longest();
    if (longest == 0) continue;
    EXPECT_TRUE(budget(longest, room).fits()) << room;
    EXPECT_TRUE(longest == 3200 || !budget(longest + 32, room).fits()) << room;
  }
}

TEST(MemoryBudget, AShortContextIsEnoughWhenTheModelHasNoMore) {
  EXPECT_EQ(budget(64, 358).longest(), 64u);
  EXPECT_EQ(budget(64, 357).longest(), 0u);
}

TEST(MemoryBudget, OfAShape) {
  const ModelShape shape{.weight_bytes = 500 * kMiB,
                         .context_length = 8192,
                         .n_layers = 24,
                         .n_kv_heads = 2,
                         .head_dim = 64};
  EngineOptions options;
  const auto full = memory_budget(shape, options);
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->length, 8192u);
  // 16 bits for each of K and V; i16 adds a scale per key and head to each.
  const uint64_t values = uint64_t{8192} * 24 * 2 * 64 * 2 * 2;
  const uint64_t kv = full->needed() - full->need.fixed_bytes();
  EXPECT_GE(kv, values);
  EXPECT_LE(kv, values * 11 / 10);
  EXPECT_LT(full->need_q8.total(8192), full->needed());
  ModelShape windowed = shape;
  windowed.n_window_layers = 12, windowed.window = 128;
  const auto less = memory_budget(windowed, options);
  ASSERT_TRUE(less);
  EXPECT_LT(less->needed() - less->need.fixed_bytes(), kv * 6 / 10);
  options.kv_type = "f8";
  EXPECT_FALSE(memory_budget(shape, options));
}

TEST(MemoryBudget, TheLongestSequence) {
  const kv::CacheOptions cache{.classes = {{0, 10}, {64, 100}}, .step_tokens = 32};
  // A window of 64 and a step of 32 reach over 4 pages.
  EXPECT_EQ(longest_sequence(cache, 400 + 10 * 50, 1000), 32u * 50);
  EXPECT_EQ(longest_sequence(cache, 400 + 10 * 50, 20), 32u * 20);
  EXPECT_EQ(longest_sequence(cache, 109, 20), 0u);
  EXPECT_EQ(longest_sequence(cache, 0, 0), 0u);
}

TEST(KernelTables, AreAllThere) {
  const auto tables = kernel_tables();
  ASSERT_FALSE(tables.empty());
  EXPECT_EQ(tables.back().name, "scalar");
  EXPECT_TRUE(tables.back().missing.empty());
}

}  // namespace
}  // namespace tempo9::engine
