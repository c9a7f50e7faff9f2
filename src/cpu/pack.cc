#include "cpu/pack.h"

#include <cstring>

#include "quant/half.h"

namespace tempo9::cpu {
namespace {

// Where things stand in a packed unit. A unit is one block of 32 inputs, or a super-block of 8 of
// them.
struct Layout {
  DType type;
  uint32_t n_blocks;  // blocks of 32 a unit
  uint32_t unit_bytes;
  int zero;              // value of a stored 0, negated
  bool min;              // f16 minima beside the f16 scales
  bool sub_scales;       // a byte per block (and per minimum) after them
  uint32_t block_begin;  // first block's bytes
  uint32_t block_bytes;
  uint32_t high_bits;  // 0, 1 or 2 bits a weight in planes after the nibbles; 4: whole bytes
};

constexpr Layout kLayouts[kNumQuantPackings] = {
    {DType::kQ4_0, 1, 288, 8, false, false, 32, 256, 0},
    {DType::kQ4_1, 1, 320, 0, true, false, 64, 256, 0},
    {DType::kQ5_0, 1, 352, 16, false, false, 32, 320, 1},
    {DType::kQ5_1, 1, 384, 0, true, false, 64, 320, 1},
    {DType::kQ8_0, 1, 544, 128, false, false, 32, 512, 4},
    {DType::kQ4_K, 8, 2368, 0, true, true, 320, 256, 0},
    {DType::kQ5_K, 8, 2880, 0, true, true, 320, 320, 1},
    {DType::kQ6_K, 8, 3360, 32, false, true, 288, 384, 2},
};
constexpr DType kFloatTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// One file block, taken apart: stored weights (zero point not removed) and scales.
struct Unit {
  uint16_t d = 0, m = 0;    // f16 bits; m with the sign that makes it an addition
  uint8_t scales[16] = {};  // Q6_K: one per 16, signed; else one per 32
  uint8_t mins[8] = {};
  uint8_t q[256];
};

void unpack_nibbles(const uint8_t* p, uint8_t* q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = p[i] & 15;
    q[i + 16] = p[i] >> 4;
  }
}

void add_fifth_bits(const uint8_t* p, uint8_t* q) {
  for (int i = 0; i < 32; ++i) q[i] = static_cast<uint8_t>(q[i] | ((p[i / 8] >> (i % 8)) & 1) << 4);
}

// The 6-bit scales and minima of Q4_K and Q5_K: 12 bytes for 8 of each.
void unpack_k_scales(const uint8_t* p, uint8_t* scales, uint8_t* mins) {
  for (int i = 0; i < 4; ++i) {
    scales[i] = p[i] & 63;
    mins[i] = p[i + 4] & 63;
    scales[i + 4] = static_cast<uint8_t>((p[i + 8] & 15) | (p[i] >> 6) << 4);
    mins[i + 4] = static_cast<uint8_t>((p[i + 8] >> 4) | (p[i + 4] >> 6) << 4);
  }
}

uint16_t read_u16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

void read_k_block(const uint8_t* p, bool fifth_bits, Unit& u) {
  u.d = read_u16(p);
  u.m = read_u16(p + 2) ^ 0x8000u;
  unpack_k_scales(p + 4, u.scales, u.mins);
  const uint8_t* high = p + 16;
  const uint8_t* low = fifth_bits ? p + 48 : p + 16;
  for (int block = 0; block < 8; ++block) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t byte = low[32 * (block / 2) + i];
      uint8_t q = block % 2 == 0 ? byte & 15 : byte >> 4;
      if (fifth_bits) q = static_cast<uint8_t>(q | ((high[i] >> block) & 1) << 4);
      u.q[32 * block + i] = q;
    }
  }
}

void read_q6_k(const uint8_t* p, Unit& u) {
  const uint8_t *low = p, *high = p + 128;
  std::memcpy(u.scales, p + 192, 16);
  u.d = read_u16(p + 208);
  for (int half = 0; half < 2; ++half) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const uint8_t byte = low[64 * half + 32 * (quarter % 2) + i];
        const uint8_t nibble = quarter < 2 ? byte & 15 : byte >> 4;
        const uint8_t top = (high[32 * half + i] >> (2 * quarter)) & 3;
        u.q[128 * half + 32 * quarter + i] = static_cast<uint8_t>(nibble | top << 4);
      }
    }
  }
}

void read_unit(DType type, const uint8_t* p, Unit& u) {
  u.d = read_u16(p);
  switch (type) {
    case DType::kQ4_0:
      unpack_nibbles(p + 2, u.q);
      break;
    case DType::kQ4_1:
      u.m = read_u16(p + 2);
      unpack_nibbles(p + 4, u.q);
      break;
    case DType::kQ5_0:
      unpack_nibbles(p + 6, u.q);
      add_fifth_bits(p + 2, u.q);
      break;
    case DType::kQ5_1:
      u.m = read_u16(p + 2);
      unpack_nibbles(p + 8, u.q);
      add_fifth_bits(p + 4, u.q);
      break;
    case DType::kQ8_0:
      for (int i = 0; i < 32; ++i) u.q[i] = p[2 + i] ^ 0x80;
      break;
    case DType::kQ6_K:
      read_q6_k(p, u);
      break;
    default:
      read_k_block(p, type == DType::kQ5_K, u);
  }
}

void write_u16(uint8_t* p, uint16_t value) { std::memcpy(p, &value, sizeof value); }

// Stored weight k (0 to 31) of a column in a packed block: register k / 4, byte 4 * column + k % 4.
void put_weight(uint8_t* block, uint32_t high_bits, uint32_t k, uint32_t column, uint8_t q) {
  const uint32_t j = k / 4, at = 4 * column + k % 4;
  if (high_bits == 4) {
    block[64 * j + at] = q;
    return;
  }
  uint8_t& nibbles = block[64 * (j % 4) + at];
  nibbles = static_cast<uint8_t>(nibbles | (q & 15) << (j < 4 ? 0 : 4));
  uint8_t* planes = block + 256;
  if (high_bits == 1) {
    planes[8 * j + at / 8] = static_cast<uint8_t>(planes[8 * j + at / 8] | (q >> 4) << (at % 8));
  } else if (high_bits == 2) {
    uint8_t& plane = planes[64 * (j / 4) + at];
    plane = static_cast<uint8_t>(plane | (q >> 4) << (2 * (j % 4)));
  }
}

uint8_t get_weight(const uint8_t* block, uint32_t high_bits, uint32_t k, uint32_t column) {
  const uint32_t j = k / 4, at = 4 * column + k % 4;
  if (high_bits == 4) return block[64 * j + at];
  const uint8_t nibbles = block[64 * (j % 4) + at];
  uint8_t q = j < 4 ? nibbles & 15 : nibbles >> 4;
  const uint8_t* planes = block + 256;
  if (high_bits == 1) q = static_cast<uint8_t>(q | ((planes[8 * j + at / 8] >> (at % 8)) & 1) << 4);
  if (high_bits == 2)
    q = static_cast<uint8_t>(q | ((planes[64 * (j / 4) + at] >> (2 * (j % 4))) & 3) << 4);
  return q;
}

void pack_unit(const Layout& layout, const Unit& u, uint32_t column, uint8_t* out) {
  write_u16(out + 2 * column, u.d);
  if (layout.min) write_u16(out + 32 + 2 * column, u.m);
  const uint32_t scales_begin = layout.min ? 64 : 32;
  const bool halves = layout.type == DType::kQ6_K;
  for (uint32_t i = 0; layout.sub_scales && i < (halves ? 16u : 8u); ++i) {
    out[scales_begin + 16 * i + column] = u.scales[i];
    if (layout.min) out[192 + 16 * i + column] = u.mins[i];
  }
  for (uint32_t i = 0; i < 32 * layout.n_blocks; ++i) {
    put_weight(out + layout.block_begin + layout.block_bytes * (i / 32), layout.high_bits, i % 32,
               column, u.q[i]);
  }
}

}  // namespace

std::optional<Packing> packing_of(DType type) {
  for (size_t i = 0; i < kNumQuantPackings; ++i) {
    if (kLayouts[i].type == type) return static_cast<Packing>(i);
  }
  for (size_t i = 0; i < 3; ++i) {
    if (kFloatTypes[i] == type) return static_cast<Packing>(kNumQuantPackings + i);
  }
  return std::nullopt;
}

size_t packed_group_bytes(Packing packing, uint32_t n_in) {
  if (packing == Packing::kF32) return size_t{n_in} * 64;
  if (packing > Packing::kF32) return size_t{n_in} * 32;
  const Layout& layout = kLayouts[static_cast<size_t>(packing)];
  return size_t{n_in} / (32 * layout.n_blocks) * layout.unit_bytes;
}

void pack_group(Packing packing, const uint8_t* src, size_t row_bytes, uint32_t n_in,
                uint32_t n_out, uint32_t group, uint8_t* out) {
  for (uint32_t column = 0; column < kLanes && group * kLanes + column < n_out; ++column) {
    const uint8_t* row = src + row_bytes * (size_t{group} * kLanes + column);
    if (!is_quantized(packing)) {
      const size_t width = packing == Packing::kF32 ? 4 : 2;
      for (size_t k = 0; k < n_in; ++k)
        std::memcpy(out + (k * kLanes + column) * width, row + k * width, width);
      continue;
    }
    const Layout& layout = kLayouts[static_cast<size_t>(packing)];
    const uint32_t source_bytes = dtype_info(layout.type).block_bytes;
    for (uint32_t i = 0; i < n_in / (32 * layout.n_blocks); ++i) {
      Unit unit;
      read_unit(layout.type, row + size_t{source_bytes} * i, unit);
      pack_unit(layout, unit, column, out + size_t{layout.unit_bytes} * i);
    }
  }
}

void unpack_column(Packing packing, const uint8_t* group, uint32_t n_in, uint32_t column,
                   float* out) {
  if (!is_quantized(packing)) {
    for (size_t k = 0; k < n_in; ++k) {
      const size_t at = k * kLanes + column;
      if (packing == Packing::kF32) {
        std::memcpy(out + k, group + 4 * at, 4);
      } else {
        const uint16_t bits = read_u16(group + 2 * at);
        out[k] = packing == Packing::kF16 ? quant::f16_to_f32(bits) : quant::bf16_to_f32(bits);
      }
    }
    return;
  }
  const Layout& layout = kLayouts[static_cast<size_t>(packing)];
  const bool halves = layout.type == DType::kQ6_K;
  for (uint32_t k = 0; k < n_in; ++k) {
    const uint32_t in_unit = k % (32 * layout.n_blocks), b = in_unit / 32;
    const uint8_t* unit = group + size_t{layout.unit_bytes} * (k / (32 * layout.n_blocks));
    float scale = quant::f16_to_f32(read_u16(unit + 2 * column));
    float min = layout.min ? quant::f16_to_f32(read_u16(unit + 32 + 2 * column)) : 0.0f;
    if (halves) {
      scale *= static_cast<float>(static_cast<int8_t>(unit[32 + 16 * (in_unit / 16) + column]));
    } else if (layout.sub_scales) {
      scale *= static_cast<float>(unit[64 + 16 * b + column]);
      min *= static_cast<float>(unit[192 + 16 * b + column]);
    }
    const int q = get_weight(unit + layout.block_begin + layout.block_bytes * b, layout.high_bits,
                             k % 32, column);
    out[k] = scale * static_cast<float>(q - layout.zero) + min;
  }
}

}  // namespace tempo9::cpu
