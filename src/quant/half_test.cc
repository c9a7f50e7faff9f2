#include "quant/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tempo9::quant {
namespace {

// The expected values come from the compiler's own conversions.
float reference_f16_to_f32(uint16_t half) {
  return static_cast<float>(std::bit_cast<_Float16>(half));
}
uint16_t reference_f32_to_f16(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

TEST(Half, F16ToF32EqualsTheCompilersForAll65536) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool signalling = (bits & 0x7E00) == 0x7C00 && (bits & 0x01FF) != 0;
    if (signalling)
      continue;  // the compiler's conversion makes them quiet; the F16 golden has some
    ASSERT_EQ(std::bit_cast<uint32_t>(f16_to_f32(half)),
              std::bit_cast<uint32_t>(reference_f16_to_f32(half)))
        << "half 0x" << std::hex << bits;
  }
}

TEST(Half, F32ToF16RoundsAsTheCompilerDoesAroundEveryHalfAndEveryTie) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const float here = f16_to_f32(static_cast<uint16_t>(bits));
    const float next = bits == 0x7BFF ? 65536.0f : f16_to_f32(static_cast<uint16_t>(bits + 1));
    const float tie = here + (next - here) / 2;  // exact: both have at most eleven bits
    for (const float centre : {here, tie}) {
      for (const float value :
           {centre, std::nextafter(centre, 1e9f), std::nextafter(centre, -1e9f)}) {
        ASSERT_EQ(f32_to_f16(value), reference_f32_to_f16(value)) << value;
        ASSERT_EQ(f32_to_f16(-value), reference_f32_to_f16(-value)) << -value;
      }
    }
  }
}

TEST(Half, F32ToF16OnASweepOfAllExponents) {
  // A stride without common factors with the fields visits every exponent with many mantissas.
  for (uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 65'521) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(f32_to_f16(value), reference_f32_to_f16(value)) << "0x" << std::hex << bits;
  }
}

TEST(Half, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f32_to_f16(infinity), 0x7C00);
  EXPECT_EQ(f32_to_f16(-infinity), 0xFC00);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // tie to even
  EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(0x7F800001u)))));
}

TEST(Half, Bf16RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3F80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // tie, even below
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // tie, even above
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xFF800001u)), 0xFFC0);
  EXPECT_EQ(std::bit_cast<uint32_t>(bf16_to_f32(0xC049)), 0xC0490000u);
}

TEST(Half, LoadsAreLittleEndianAtAnyAddress) {
  const uint8_t bytes[] = {0xFF, 0x01, 0x02, 0x83, 0x84};
  EXPECT_EQ(load_u16(bytes + 1), 0x0201);
  EXPECT_EQ(load_u32(bytes + 1), 0x84830201u);
}

}  // namespace
}  // namespace tempo9::quant
