#include "cpu/pack.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cpu/test_weights.h"

namespace tempo9::cpu {
namespace {

class PackTest : public testing::TestWithParam<DType> {};

TEST_P(PackTest, UnpackedColumnsAreTheFilesWeights) {
  const DType type = GetParam();
  const uint32_t n_in = 512, n_out = 37;
  const Packing packing = *packing_of(type);
  const std::vector<uint8_t> file = random_weights(type, n_in, n_out, 0.5f, 7);
  const size_t row_bytes = file.size() / n_out;
  for (uint32_t group = 0; group < 3; ++group) {
    std::vector<uint8_t> packed(packed_group_bytes(packing, n_in));
    pack_group(packing, file.data(), row_bytes, n_in, n_out, group, packed.data());
    for (uint32_t column = 0; column < kLanes; ++column) {
      std::vector<float> got(n_in), want(n_in);
      unpack_column(packing, packed.data(), n_in, column, got.data());
      const uint32_t row = group * kLanes + column;
      if (row < n_out) {
        quant::find_format(type)->decode(file.data() + row_bytes * row, want.data(),
                                         n_in / dtype_info(type).block_elements);
      }
      for (uint32_t k = 0; k < n_in; ++k) {
        // The codec rounds after the product and after the minimum; so do we, in another order: 2
        // ulp of the parts.
        ASSERT_NEAR(got[k], want[k], 4e-7f * (1.0f + std::abs(want[k])))
            << "row " << row << " input " << k;
      }
    }
  }
}

TEST_P(PackTest, PackedSizeIsNearTheFiles) {
  const DTypeInfo& info = dtype_info(GetParam());
  const double file = 16.0 * 2048 / info.block_elements * info.block_bytes;
  // Five trits a byte are not worth taking apart in every product.
  const double most = GetParam() == DType::kTQ1_0 ? 1.23 : 1.07;
  EXPECT_LE(static_cast<double>(packed_group_bytes(*packing_of(GetParam()), 2048)), most * file);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, PackTest,
    testing::Values(DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                    DType::kQ8_1, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
                    DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4, DType::kNVFP4,
                    DType::kQ1_0, DType::kQ2_0, DType::kTQ1_0, DType::kTQ2_0, DType::kIQ1_S,
                    DType::kIQ1_M, DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S, DType::kIQ3_XXS,
                    DType::kIQ3_S, DType::kF32, DType::kF16, DType::kBF16),
    [](const auto& instance) { return std::string(dtype_info(instance.param).name); });

}  // namespace
}  // namespace tempo9::cpu
