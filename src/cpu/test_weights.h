// Random weights in any file format, for tests.
#pragma once

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "quant/half.h"
#include "quant/quant.h"

namespace tempo9::cpu {

// n_rows x n_in weights of about the given size: random bytes as quantised values (or `byte` for
// all of them), small random scales.
inline std::vector<uint8_t> random_weights(DType type, uint32_t n_in, uint32_t n_rows, float size,
                                           uint32_t seed, std::optional<uint8_t> byte = {}) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, size);
  const DTypeInfo& info = dtype_info(type);
  std::vector<uint8_t> out(size_t{n_in} / info.block_elements * info.block_bytes * n_rows);
  if (info.block_elements == 1) {
    for (size_t i = 0; i * info.block_bytes < out.size(); ++i) {
      const float value = normal(random);
      const uint16_t half =
          type == DType::kF16 ? quant::f32_to_f16(value) : quant::f32_to_bf16(value);
      if (type == DType::kF32) std::memcpy(&out[4 * i], &value, 4);
      if (type != DType::kF32) std::memcpy(&out[2 * i], &half, 2);
    }
    return out;
  }
  for (uint8_t& value : out) value = byte.value_or(static_cast<uint8_t>(random()));
  // Where each format keeps its f16 scales; the values they multiply go up to about `reach`.
  struct ScaleAt {
    DType type;
    float reach;
    std::vector<size_t> offsets;
  };
  const ScaleAt kScales[] = {
      {DType::kQ4_0, 8, {0}},          {DType::kQ4_1, 15, {0, 2}},
      {DType::kQ5_0, 16, {0}},         {DType::kQ5_1, 31, {0, 2}},
      {DType::kQ8_0, 128, {0}},        {DType::kQ4_K, 63 * 15, {0, 2}},
      {DType::kQ5_K, 63 * 31, {0, 2}}, {DType::kQ6_K, 128 * 32, {208}},
      {DType::kQ2_K, 45, {80, 82}},    {DType::kQ3_K, 128, {108}},
      {DType::kIQ4_NL, 127, {0}},      {DType::kIQ4_XS, 32 * 127, {0}},
      {DType::kTQ2_0, 2, {64}},        {DType::kTQ1_0, 2, {52}},
      {DType::kQ8_1, 128, {0, 2}},     {DType::kQ1_0, 1, {0}},
      {DType::kQ2_0, 2, {0}},          {DType::kIQ1_S, 15, {0}},
      {DType::kIQ2_XXS, 170, {0}},     {DType::kIQ2_XS, 170, {0}},
      {DType::kIQ2_S, 170, {0}},       {DType::kIQ3_XXS, 480, {0}},
      {DType::kIQ3_S, 465, {0}},
  };
  for (const ScaleAt& entry : kScales) {
    if (entry.type != type) continue;
    for (size_t block = 0; block < out.size(); block += info.block_bytes) {
      for (const size_t offset : entry.offsets) {
        const uint16_t half = quant::f32_to_f16(normal(random) * 2.0f / entry.reach);
        std::memcpy(&out[block + offset], &half, 2);
      }
    }
  }
  // IQ1_M's d, about 0.05, is scattered over four words.
  for (size_t block = 0; type == DType::kIQ1_M && block < out.size(); block += info.block_bytes) {
    for (size_t n = 0; n < 4; ++n) {
      uint8_t& word = out[block + 49 + 2 * n];
      word = static_cast<uint8_t>((word & 15) | (0x2A00 + random() % 256) >> (4 * n) << 4);
    }
  }
  for (size_t block = 0; type == DType::kMXFP4 && block < out.size(); block += info.block_bytes)
    out[block] = static_cast<uint8_t>(118 + random() % 8);  // its scale is a power of two
  return out;
}

}  // namespace tempo9::cpu
