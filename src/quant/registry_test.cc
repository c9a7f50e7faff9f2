#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "quant/half.h"
#include "quant/quant.h"

namespace tempo9::quant {
namespace {

struct Golden {
  size_t n_blocks = 0;
  std::vector<uint8_t> blocks;
  std::vector<float> values;
};

// Written by tools/golden/quant_golden.py; empty if there is none.
Golden load_golden(const DTypeInfo& info) {
  std::ifstream in(std::string(T9_TEST_DATA) + "/quant/" + std::string(info.name) + ".bin",
                   std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in),
                                std::istreambuf_iterator<char>()};
  Golden golden;
  if (bytes.size() < 4) return golden;
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const size_t n = load_u32(p);
  const size_t block_bytes = n * info.block_bytes;
  const size_t n_values = n * info.block_elements;
  if (bytes.size() != 4 + block_bytes + n_values * sizeof(float)) return golden;
  golden.n_blocks = n;
  golden.blocks.assign(p + 4, p + 4 + block_bytes);
  golden.values.resize(n_values);
  std::memcpy(golden.values.data(), p + 4 + block_bytes, n_values * sizeof(float));
  return golden;
}

class FormatTest : public testing::TestWithParam<Format> {
 protected:
  const DTypeInfo& info() const { return dtype_info(GetParam().type); }
};

TEST_P(FormatTest, EqualsTheReferenceBitForBit) {
  const Golden golden = load_golden(info());
  ASSERT_GT(golden.n_blocks, 0u) << "no usable golden for " << info().name
                                 << ": add it to tools/golden/quant_golden.py and run that";
  std::vector<float> got(golden.values.size(), -1.0f);
  GetParam().decode(golden.blocks.data(), got.data(), golden.n_blocks);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(golden.values[i]))
        << info().name << ": block " << i / info().block_elements << ", element "
        << i % info().block_elements << ": got " << got[i] << ", the reference has "
        << golden.values[i];
  }
}

TEST_P(FormatTest, ReadsBlocksAtOddAddressesAndNothingBeyondThem) {
  const Golden golden = load_golden(info());
  ASSERT_GT(golden.n_blocks, 1u);
  for (size_t shift = 1; shift < 8; shift += 2) {
    // The allocation ends where the blocks end, so that AddressSanitizer sees a read beyond.
    std::vector<uint8_t> moved(shift + golden.blocks.size());
    std::memcpy(moved.data() + shift, golden.blocks.data(), golden.blocks.size());
    std::vector<float> got(golden.values.size(), -1.0f);
    GetParam().decode(moved.data() + shift, got.data(), golden.n_blocks);
    ASSERT_EQ(std::memcmp(got.data(), golden.values.data(), got.size() * sizeof(float)), 0)
        << info().name << " at an address that is " << shift << " past an even one";
  }
}

TEST_P(FormatTest, DecodesOnlyAsManyBlocksAsAsked) {
  const Golden golden = load_golden(info());
  ASSERT_GT(golden.n_blocks, 1u);
  std::vector<float> got(golden.values.size(), -1.0f);
  GetParam().decode(golden.blocks.data(), got.data(), 0);
  EXPECT_EQ(got[0], -1.0f);
  GetParam().decode(golden.blocks.data(), got.data(), 1);
  EXPECT_EQ(std::memcmp(got.data(), golden.values.data(), info().block_elements * sizeof(float)),
            0);
  for (size_t i = info().block_elements; i < got.size(); ++i) ASSERT_EQ(got[i], -1.0f);
}

INSTANTIATE_TEST_SUITE_P(All, FormatTest, testing::ValuesIn(formats().begin(), formats().end()),
                         [](const auto& param) {
                           return std::string(dtype_info(param.param.type).name);
                         });

TEST(Registry, HoldsEveryTypeThatCanBeAWeightAndNoOther) {
  const std::set<DType> no_weights = {DType::kI8,  DType::kI16, DType::kI32,
                                      DType::kI64, DType::kF64, DType::kQ8_K};
  for (uint32_t id = 0; find_dtype(id).has_value(); ++id) {
    const DType type = static_cast<DType>(id);
    const bool expected = find_dtype(id)->block_bytes != 0 && no_weights.count(type) == 0;
    EXPECT_EQ(find_format(type) != nullptr, expected) << find_dtype(id)->name;
  }
}

TEST(Registry, ListsEachTypeOnce) {
  std::set<DType> seen;
  for (const Format& format : formats()) {
    EXPECT_TRUE(seen.insert(format.type).second) << dtype_info(format.type).name;
    EXPECT_EQ(find_format(format.type), &format);
  }
}

}  // namespace
}  // namespace tempo9::quant
