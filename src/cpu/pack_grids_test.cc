// The packed IQ blocks against the codec; sizes and products are in pack_test.cc and
// linear_test.cc.
#include "cpu/pack_grids.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "cpu/test_weights.h"

namespace tempo9::cpu {
namespace {

class PackGridsTest : public testing::TestWithParam<DType> {};

TEST_P(PackGridsTest, ColumnsAreTheFilesWeightsBitForBit) {
  std::vector<uint8_t> unit(grid_unit_bytes(GetParam()));
  std::vector<std::vector<uint8_t>> blocks(16);
  for (uint32_t column = 0; column < 16; ++column) {
    blocks[column] = random_weights(GetParam(), 256, 1, 1.0f, column);
    pack_grid_block(GetParam(), blocks[column].data(), column, unit.data());
  }
  for (uint32_t column = 0; column < 16; ++column) {
    std::vector<float> want(256), got(256);
    quant::find_format(GetParam())->decode(blocks[column].data(), want.data(), 1);
    unpack_grid_block(GetParam(), unit.data(), column, got.data());
    for (size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]))
          << "column " << column << " weight " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, PackGridsTest,
                         testing::Values(DType::kIQ1_S, DType::kIQ1_M, DType::kIQ2_XXS,
                                         DType::kIQ2_XS, DType::kIQ2_S, DType::kIQ3_XXS,
                                         DType::kIQ3_S),
                         [](const auto& instance) {
                           return std::string(dtype_info(instance.param).name);
                         });

TEST(PackGrids, OtherTypesAreNoGrids) { EXPECT_EQ(grid_unit_bytes(DType::kQ4_K), 0u); }

}  // namespace
}  // namespace tempo9::cpu
