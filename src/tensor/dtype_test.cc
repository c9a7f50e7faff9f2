#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace tempo9 {
namespace {

TEST(DType, KnowsIdsByNameAndNothingElse) {
  EXPECT_EQ(find_dtype(12)->name, "Q4_K");
  EXPECT_EQ(find_dtype(12)->block_elements, 256u);
  EXPECT_EQ(find_dtype(12)->block_bytes, 144u);
  EXPECT_EQ(find_dtype(31)->name, "Q4_0_4_4");
  EXPECT_EQ(find_dtype(31)->block_bytes, 0u);  // removed upstream
  EXPECT_FALSE(find_dtype(43).has_value());
  EXPECT_FALSE(find_dtype(0xFFFFFFFF).has_value());
}

TEST(DType, NamesAreUnique) {
  std::set<std::string_view> names;
  for (uint32_t id = 0; find_dtype(id).has_value(); ++id) {
    EXPECT_TRUE(names.insert(find_dtype(id)->name).second) << id;
  }
  EXPECT_EQ(names.size(), 43u);
}

TEST(DType, InfoOfAnEnumerator) {
  EXPECT_EQ(dtype_info(DType::kF32).block_bytes, 4u);
  EXPECT_EQ(dtype_info(DType::kNVFP4).block_elements, 64u);
}

}  // namespace
}  // namespace tempo9
