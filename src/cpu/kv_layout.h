// How one page of one layer and kv head lies in memory: a K part, rows of [32 keys], then a V part.
//
//   f16, f32   K [head_dim][32 keys], V [32 keys][padded_dim]
//   i16        K [pairs of dims][32 keys][2], one row [32 keys] of K scales and one of V scales
//              (f32), V [16 pairs of keys][padded_dim][2]
//   latent i16 the same with a row of K scales for each 64 dims
//   i8         K [fours of dims][32 keys][4], a row of K scales for each 32 dims and one of V
//              scales, V [8 fours of keys][padded_dim][4]; of a four the order is 0 2 1 3
//
// padded_dim is the values' size rounded up to 16 lanes. Lanes run over keys in K and over dims in
// V, so neither scores nor sums need a reduction across lanes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tempo9::cpu {

// In ops::KvType's order; then what i16 is for latent layers.
enum class KvFormat : uint8_t { kI16, kI8, kF16, kF32, kLatentI16 };
inline constexpr size_t kNumKvFormats = 5;
inline constexpr uint32_t kPageKeys = 32;
inline constexpr uint32_t kQ8RunDims = 32, kLatentRunDims = 64;  // of a key, which share a scale

struct KvLayout {
  size_t k_rows;       // rows of the K part
  size_t key_bytes;    // of one key in such a row
  size_t v_row_keys;   // keys that share a row of the V part
  size_t v_row_bytes;  // of such a row

  constexpr size_t v_offset() const { return k_rows * key_bytes * kPageKeys; }
  constexpr size_t bytes() const { return v_offset() + kPageKeys / v_row_keys * v_row_bytes; }
};

constexpr KvLayout kv_layout(KvFormat format, uint32_t head_dim, uint32_t value_dim) {
  const size_t padded = (size_t{value_dim} + 15) / 16 * 16;
  switch (format) {
    case KvFormat::kI16:
      return {(size_t{head_dim} + 1) / 2 + 2, 4, 2, padded * 4};
    case KvFormat::kLatentI16:
      return {
          (size_t{head_dim} + 1) / 2 + (size_t{head_dim} + kLatentRunDims - 1) / kLatentRunDims + 1,
          4, 2, padded * 4};
    case KvFormat::kI8:
      return {(size_t{head_dim} + 3) / 4 + (size_t{head_dim} + kQ8RunDims - 1) / kQ8RunDims + 1, 4,
              4, padded * 4};
    case KvFormat::kF16:
      return {head_dim, 2, 1, padded * 2};
    case KvFormat::kF32:
      break;
  }
  return {head_dim, 4, 1, padded * 4};
}

// Copies the first n_keys keys and values of one page and kv head.
void copy_kv_keys(const KvLayout& layout, const uint8_t* from, uint8_t* to, uint32_t n_keys);

}  // namespace tempo9::cpu
