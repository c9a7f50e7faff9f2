// The roofs' loops do the work that they count; how fast is nobody's promise.
#include "cpu/roofs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <utility>

#include "cpu/cpu.h"
#include "cpu/memory.h"

namespace tempo9::cpu {
namespace {

class RoofsTest : public testing::TestWithParam<const KernelTable*> {
 protected:
  const RoofKernels& kernels() const { return *find_roof_kernels(GetParam()->name); }
};

TEST_P(RoofsTest, DotsAreAllDone) {
  for (const uint32_t n_rounds : {0u, 1u, 77u}) {
    for (const auto& [w, x] : {std::pair{3, -2}, {127, 127}, {128, -127}, {255, 1}}) {
      const auto expected =
          static_cast<uint32_t>(n_rounds * kernels().dots_per_round) * static_cast<uint32_t>(w * x);
      EXPECT_EQ(kernels().int8_dots(n_rounds, static_cast<uint8_t>(w), static_cast<int8_t>(x)),
                expected)
          << n_rounds << " rounds of " << w << " x " << x;
    }
  }
}

TEST_P(RoofsTest, FmasAreAllDone) {
  for (const uint32_t n_rounds : {0u, 1u, 77u}) {  // exact: all sums are below 2^24
    const auto expected = static_cast<float>(n_rounds * kernels().fmas_per_round * 6);
    EXPECT_EQ(kernels().f32_fmas(n_rounds, 2.0f, 3.0f), expected) << n_rounds;
  }
}

TEST_P(RoofsTest, EveryByteIsRead) {
  auto memory = Memory::reserve(5 * kReadStep);
  ASSERT_TRUE(memory);
  std::mt19937_64 random(5);
  uint64_t expected = 0;
  for (size_t at = 0; at < memory->size(); at += 8) {
    const uint64_t word = random();
    std::memcpy(memory->data() + at, &word, 8);
    expected += word;
  }
  EXPECT_EQ(kernels().read(memory->data(), memory->size()), expected);
  EXPECT_EQ(kernels().read(memory->data(), 0), 0u);
}

TEST_P(RoofsTest, Measured) {
  for (const ops::Roof roof : {ops::Roof::kInt8Dots, ops::Roof::kF32Fmas, ops::Roof::kRead}) {
    ops::RoofOptions options;
    options.isa = GetParam()->name;
    options.n_threads = 2;
    options.n_repeats = 3;
    options.seconds = 1e-4;
    options.read_bytes = 3 << 20;
    const auto rates = measure_roof(roof, options);
    ASSERT_TRUE(rates) << rates.error().message;
    EXPECT_EQ(rates->isa, GetParam()->name);
    ASSERT_EQ(rates->rates.size(), 3u);
    for (const double rate : rates->rates) EXPECT_GT(rate, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, RoofsTest, testing::ValuesIn(available_tables()),
                         [](const auto& table) { return std::string(table.param->name); });

TEST(Roofs, EveryTableHasThem) {
  for (const KernelTable* table : available_tables()) {
    ASSERT_NE(find_roof_kernels(table->name), nullptr) << table->name;
  }
  EXPECT_EQ(find_roof_kernels("mmx"), nullptr);
}

TEST(Roofs, UnknownTableIsRefused) {
  ops::RoofOptions options;
  options.isa = "mmx";
  const auto rates = measure_roof(ops::Roof::kRead, options);
  ASSERT_FALSE(rates);
  EXPECT_NE(rates.error().message.find("mmx"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::cpu
