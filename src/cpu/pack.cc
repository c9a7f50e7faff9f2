#include "cpu/pack.h"

#include <bit>
#include <cstring>

#include "cpu/pack_grids.h"
#include "quant/half.h"
#include "quant/iq4_nl.h"
#include "quant/mxfp4.h"
#include "quant/tq1_0.h"

namespace tempo9::cpu {
namespace {

// Where things stand in a packed unit. A unit is one block of 32 inputs, or a super-block of 8 of
// them.
enum class Scales : uint8_t {
  kF16,
  kF16Min,       // f16 scales, then f16 minima
  kF16U8Min,     // both, then a byte per block for each of them
  kF16U4Min,     // both, then a byte per 16 inputs: scale in the low half, minimum in the high one
  kF16I8,        // f16, then a signed byte per block
  kF16I8Halves,  // f16, then a signed byte per 16 inputs
  kE4m3Halves,   // an 8-bit float per 16 inputs
  kExponent,     // a byte: the exponent bits of a float
  kGrid          // all by cpu/pack_grids.h
};

struct Layout {
  DType type;
  uint32_t n_blocks;    // blocks of 32 a unit
  uint32_t unit_bytes;  // 0 for kGrid: see grid_unit_bytes
  int zero;             // value of a stored 0, negated
  Scales scales;
  uint32_t block_begin = 0;  // first block's bytes
  uint32_t block_bytes = 0;
  uint32_t low_bits = 0;        // of a weight that stand together in fields: 0, 2, 4 or 8
  uint32_t high_bits = 0;       // in planes after them: 0, 1 or 2
  int (*level)(int) = nullptr;  // what a stored weight stands for, where that is no number
};

constexpr int one_bit(int q) { return 2 * q - 1; }

constexpr Layout kLayouts[kNumQuantPackings] = {
    {DType::kQ4_0, 1, 288, 8, Scales::kF16, 32, 256, 4, 0},
    {DType::kQ4_1, 1, 320, 0, Scales::kF16Min, 64, 256, 4, 0},
    {DType::kQ5_0, 1, 352, 16, Scales::kF16, 32, 320, 4, 1},
    {DType::kQ5_1, 1, 384, 0, Scales::kF16Min, 64, 320, 4, 1},
    {DType::kQ8_0, 1, 544, 128, Scales::kF16, 32, 512, 8, 0},
    {DType::kQ8_1, 1, 544, 128, Scales::kF16, 32, 512, 8, 0},
    {DType::kQ2_K, 8, 1344, 0, Scales::kF16U4Min, 320, 128, 2, 0},
    {DType::kQ3_K, 8, 1824, 4, Scales::kF16I8Halves, 288, 192, 2, 1},
    {DType::kQ4_K, 8, 2368, 0, Scales::kF16U8Min, 320, 256, 4, 0},
    {DType::kQ5_K, 8, 2880, 0, Scales::kF16U8Min, 320, 320, 4, 1},
    {DType::kQ6_K, 8, 3360, 32, Scales::kF16I8Halves, 288, 384, 4, 2},
    {DType::kIQ4_NL, 1, 288, 0, Scales::kF16, 32, 256, 4, 0, quant::iq4_level},
    {DType::kIQ4_XS, 8, 2208, 0, Scales::kF16I8, 160, 256, 4, 0, quant::iq4_level},
    {DType::kMXFP4, 1, 272, 0, Scales::kExponent, 16, 256, 4, 0, quant::e2m1_doubled},
    {DType::kNVFP4, 2, 576, 0, Scales::kE4m3Halves, 64, 256, 4, 0, quant::e2m1_doubled},
    {DType::kQ1_0, 4, 288, 0, Scales::kF16, 32, 64, 0, 1, one_bit},
    {DType::kQ2_0, 2, 288, 1, Scales::kF16, 32, 128, 2, 0},
    {DType::kTQ1_0, 8, 1056, 1, Scales::kF16, 32, 128, 2, 0},
    {DType::kTQ2_0, 8, 1056, 1, Scales::kF16, 32, 128, 2, 0},
    {DType::kIQ1_S, 8, 0, 0, Scales::kGrid},
    {DType::kIQ1_M, 8, 0, 0, Scales::kGrid},
    {DType::kIQ2_XXS, 8, 0, 0, Scales::kGrid},
    {DType::kIQ2_XS, 8, 0, 0, Scales::kGrid},
    {DType::kIQ2_S, 8, 0, 0, Scales::kGrid},
    {DType::kIQ3_XXS, 8, 0, 0, Scales::kGrid},
    {DType::kIQ3_S, 8, 0, 0, Scales::kGrid},
};
size_t unit_bytes(const Layout& layout) {
  return layout.scales == Scales::kGrid ? grid_unit_bytes(layout.type) : layout.unit_bytes;
}

constexpr DType kFloatTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// One file block, taken apart: stored weights (zero point not removed) and scales.
struct Unit {
  uint16_t d = 0, m = 0;    // f16 bits; m with the sign that makes it an addition
  uint8_t scales[16] = {};  // one per 16 or 32, signed or not, as the layout's Scales say
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

void read_k_block(const uint8_t* p, bool fifth_bits, Unit& u) {
  u.d = quant::load_u16(p);
  u.m = quant::load_u16(p + 2) ^ 0x8000u;
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

// Two bits a weight, as Q2_K, Q3_K and TQ2_0 have them.
void unpack_pairs(const uint8_t* p, uint8_t* q) {
  for (int i = 0; i < 256; ++i)
    q[i] = static_cast<uint8_t>(p[32 * (i / 128) + i % 32] >> (2 * ((i / 32) % 4)) & 3);
}

void read_q2_k(const uint8_t* p, Unit& u) {
  std::memcpy(u.scales, p, 16);
  unpack_pairs(p + 16, u.q);
  u.d = quant::load_u16(p + 80);
  u.m = quant::load_u16(p + 82) ^ 0x8000u;
}

void read_q3_k(const uint8_t* p, Unit& u) {
  unpack_pairs(p + 32, u.q);
  for (int i = 0; i < 256; ++i)
    u.q[i] = static_cast<uint8_t>(u.q[i] | (p[i % 32] >> (i / 32) & 1) << 2);
  const uint8_t* scales = p + 96;  // six bits each: four of 16, then two of 16
  for (int i = 0; i < 16; ++i) {
    const int low = scales[i % 8] >> (4 * (i / 8)) & 15,
              high = scales[8 + i % 4] >> (2 * (i / 4)) & 3;
    u.scales[i] = static_cast<uint8_t>((low | high << 4) - 32);
  }
  u.d = quant::load_u16(p + 108);
}

void read_tq1_0(const uint8_t* p, Unit& u) {
  for (int i = 0; i < 160; ++i) u.q[i] = static_cast<uint8_t>(quant::trit(p[i % 32], i / 32));
  for (int i = 0; i < 80; ++i)
    u.q[160 + i] = static_cast<uint8_t>(quant::trit(p[32 + i % 16], i / 16));
  for (int i = 0; i < 16; ++i)
    u.q[240 + i] = static_cast<uint8_t>(quant::trit(p[48 + i % 4], i / 4));
  u.d = quant::load_u16(p + 52);
}

void read_q6_k(const uint8_t* p, Unit& u) {
  const uint8_t *low = p, *high = p + 128;
  std::memcpy(u.scales, p + 192, 16);
  u.d = quant::load_u16(p + 208);
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

void read_iq4_xs(const uint8_t* p, Unit& u) {
  const uint32_t high = quant::load_u16(p + 2);
  for (uint32_t block = 0; block < 8; ++block) {
    const uint32_t low = p[4 + block / 2] >> (4 * (block % 2)) & 15u;
    u.scales[block] = static_cast<uint8_t>((low | (high >> (2 * block) & 3u) << 4) - 32);
    unpack_nibbles(p + 8 + 16 * block, u.q + 32 * block);
  }
}

void read_nvfp4(const uint8_t* p, Unit& u) {
  for (int group = 0; group < 4; ++group) {
    u.scales[group] = p[group] == 0x7F ? 0 : p[group] & 0x7F;  // as the codec reads NaN and sign
    for (int i = 0; i < 8; ++i) {
      const uint8_t byte = p[4 + 8 * group + i];
      u.q[16 * group + i] = byte & 15;
      u.q[16 * group + 8 + i] = byte >> 4;
    }
  }
}

void read_unit(DType type, const uint8_t* p, Unit& u) {
  u.d = quant::load_u16(p);
  switch (type) {
    case DType::kQ4_0:
    case DType::kIQ4_NL:
      unpack_nibbles(p + 2, u.q);
      break;
    case DType::kQ4_1:
      u.m = quant::load_u16(p + 2);
      unpack_nibbles(p + 4, u.q);
      break;
    case DType::kQ5_0:
      unpack_nibbles(p + 6, u.q);
      add_fifth_bits(p + 2, u.q);
      break;
    case DType::kQ5_1:
      u.m = quant::load_u16(p + 2);
      unpack_nibbles(p + 8, u.q);
      add_fifth_bits(p + 4, u.q);
      break;
    case DType::kQ8_0:
      for (int i = 0; i < 32; ++i) u.q[i] = p[2 + i] ^ 0x80;
      break;
    case DType::kQ8_1:
      for (int i = 0; i < 32; ++i) u.q[i] = p[4 + i] ^ 0x80;
      break;
    case DType::kMXFP4:
      // Half the scale goes with doubled levels. Below 2^-126 floats are subnormal, and kernels
      // flush those to zero.
      u.scales[0] = p[0] > 0 ? static_cast<uint8_t>(p[0] - 1) : 0;
      unpack_nibbles(p + 1, u.q);
      break;
    case DType::kIQ4_XS:
      read_iq4_xs(p, u);
      break;
    case DType::kNVFP4:
      read_nvfp4(p, u);
      break;
    case DType::kQ2_K:
      read_q2_k(p, u);
      break;
    case DType::kQ3_K:
      read_q3_k(p, u);
      break;
    case DType::kQ6_K:
      read_q6_k(p, u);
      break;
    case DType::kQ1_0:
      for (int i = 0; i < 128; ++i) u.q[i] = p[2 + i / 8] >> (i % 8) & 1;
      break;
    case DType::kQ2_0:
      for (int i = 0; i < 64; ++i) u.q[i] = p[2 + i / 4] >> (2 * (i % 4)) & 3;
      break;
    case DType::kTQ1_0:
      read_tq1_0(p, u);
      break;
    case DType::kTQ2_0:
      unpack_pairs(p, u.q);
      u.d = quant::load_u16(p + 64);
      break;
    default:
      read_k_block(p, type == DType::kQ5_K, u);
  }
}

void write_u16(uint8_t* p, uint16_t value) { std::memcpy(p, &value, sizeof value); }

// Where stored weight k (0 to 31) of a column is in a packed block: register k / 4, byte
// 4 * column + k % 4 of it. Fields of four bits pair registers j and j + 4 in a byte, those of two
// bits j, j + 1, j + 2, j + 3; single bits are the registers' masks.
struct Field {
  uint32_t byte, shift;
};
Field field_of(uint32_t bits, uint32_t k, uint32_t column) {
  const uint32_t j = k / 4, at = 4 * column + k % 4;
  if (bits == 8) return {64 * j + at, 0};
  if (bits == 4) return {64 * (j % 4) + at, j < 4 ? 0u : 4u};
  if (bits == 2) return {64 * (j / 4) + at, 2 * (j % 4)};
  return {8 * j + at / 8, at % 8};
}

// Four neighbours of one column at a time, which stand in one word of the file's block and of a
// register: words has the 8 of a block.
void put_fields(uint8_t* fields, uint32_t bits, uint32_t column, const uint32_t* words) {
  const auto put_word = [&](uint32_t at, uint32_t word) {
    std::memcpy(fields + 64 * at + 4 * column, &word, sizeof word);
  };
  if (bits == 8) {
    for (uint32_t j = 0; j < 8; ++j) put_word(j, words[j]);
  } else if (bits == 4) {
    for (uint32_t j = 0; j < 4; ++j) put_word(j, words[j] | words[j + 4] << 4);
  } else if (bits == 2) {
    for (uint32_t j = 0; j < 8; j += 4)
      put_word(j / 4, words[j] | words[j + 1] << 2 | words[j + 2] << 4 | words[j + 3] << 6);
  } else if (bits == 1) {
    for (uint32_t j = 0; j < 8; ++j) {
      const uint32_t mask = words[j] * 0x01020408u >> 24 & 15;  // bit 0 of the four bytes
      uint8_t& byte = fields[8 * j + column / 2];
      byte = static_cast<uint8_t>(byte | mask << (4 * (column % 2)));
    }
  }
}

int get_bits(const uint8_t* fields, uint32_t bits, uint32_t k, uint32_t column) {
  if (bits == 0) return 0;
  const Field field = field_of(bits, k, column);
  return fields[field.byte] >> field.shift & ((1 << bits) - 1);
}

// The 32 stored weights q of a block.
void put_block(const Layout& layout, uint8_t* block, uint32_t column, const uint8_t* q) {
  uint32_t low[8], high[8];
  std::memcpy(low, q, sizeof low);
  const uint32_t low_mask = ((1u << layout.low_bits) - 1) * 0x01010101u;
  for (int j = 0; j < 8; ++j) {
    high[j] = (low[j] & ~low_mask) >> layout.low_bits;
    low[j] &= low_mask;
  }
  put_fields(block, layout.low_bits, column, low);
  put_fields(block + 64 * layout.low_bits, layout.high_bits, column, high);
}

int get_weight(const Layout& layout, const uint8_t* block, uint32_t k, uint32_t column) {
  return get_bits(block, layout.low_bits, k, column) |
         get_bits(block + 64 * layout.low_bits, layout.high_bits, k, column) << layout.low_bits;
}

void pack_unit(const Layout& layout, const Unit& u, uint32_t column, uint8_t* out) {
  const auto put_bytes = [&](uint32_t begin, const uint8_t* bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) out[begin + 16 * i + column] = bytes[i];
  };
  if (layout.scales == Scales::kExponent) {
    put_bytes(0, u.scales, 1);
  } else if (layout.scales == Scales::kE4m3Halves) {
    put_bytes(0, u.scales, 4);
  } else {
    write_u16(out + 2 * column, u.d);
  }
  if (layout.scales == Scales::kF16Min || layout.scales == Scales::kF16U8Min ||
      layout.scales == Scales::kF16U4Min)
    write_u16(out + 32 + 2 * column, u.m);
  if (layout.scales == Scales::kF16U4Min) put_bytes(64, u.scales, 16);
  if (layout.scales == Scales::kF16U8Min) {
    put_bytes(64, u.scales, 8);
    put_bytes(192, u.mins, 8);
  }
  if (layout.scales == Scales::kF16I8) put_bytes(32, u.scales, 8);
  if (layout.scales == Scales::kF16I8Halves) put_bytes(32, u.scales, 16);
  for (uint32_t b = 0; b < layout.n_blocks; ++b)
    put_block(layout, out + layout.block_begin + layout.block_bytes * b, column, u.q + 32 * b);
}

struct ScaleAndMin {
  float scale, min;
};

// Of the weights around position in_unit of a packed unit.
ScaleAndMin scale_at(const Layout& layout, const uint8_t* unit, uint32_t column, uint32_t in_unit) {
  const auto f16 = [&](uint32_t at) {
    return quant::f16_to_f32(quant::load_u16(unit + at + 2 * column));
  };
  const auto byte = [&](uint32_t begin, uint32_t i) { return unit[begin + 16 * i + column]; };
  const auto i8 = [&](uint32_t begin, uint32_t i) {
    return static_cast<float>(static_cast<int8_t>(byte(begin, i)));
  };
  switch (layout.scales) {
    case Scales::kF16:
      return {f16(0), 0};
    case Scales::kF16Min:
      return {f16(0), f16(32)};
    case Scales::kF16U8Min:
      return {f16(0) * static_cast<float>(byte(64, in_unit / 32)),
              f16(32) * static_cast<float>(byte(192, in_unit / 32))};
    case Scales::kF16U4Min: {
      const int both = byte(64, in_unit / 16);
      return {f16(0) * static_cast<float>(both & 15), f16(32) * static_cast<float>(both >> 4)};
    }
    case Scales::kF16I8:
      return {f16(0) * i8(32, in_unit / 32), 0};
    case Scales::kF16I8Halves:
      return {f16(0) * i8(32, in_unit / 16), 0};
    case Scales::kE4m3Halves:
      // As an f16's exponent and mantissa they are 2^8 too small; half is wanted.
      return {quant::f16_to_f32(static_cast<uint16_t>(byte(0, in_unit / 16) << 7)) * 128.0f, 0};
    case Scales::kExponent:
    case Scales::kGrid:
      break;
  }
  return {std::bit_cast<float>(static_cast<uint32_t>(byte(0, 0)) << 23), 0};
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
  return size_t{n_in} / (32 * layout.n_blocks) * unit_bytes(layout);
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
      if (layout.scales == Scales::kGrid) {
        pack_grid_block(layout.type, row + size_t{source_bytes} * i, column,
                        out + unit_bytes(layout) * i);
        continue;
      }
      Unit unit;
      read_unit(layout.type, row + size_t{source_bytes} * i, unit);
      pack_unit(layout, unit, column, out + unit_bytes(layout) * i);
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
        const uint16_t bits = quant::load_u16(group + 2 * at);
        out[k] = packing == Packing::kF16 ? quant::f16_to_f32(bits) : quant::bf16_to_f32(bits);
      }
    }
    return;
  }
  const Layout& layout = kLayouts[static_cast<size_t>(packing)];
  if (layout.scales == Scales::kGrid) {
    for (uint32_t i = 0; i < n_in / 256; ++i) {
      unpack_grid_block(layout.type, group + unit_bytes(layout) * i, column, out + size_t{256} * i);
    }
    return;
  }
  for (uint32_t k = 0; k < n_in; ++k) {
    const uint32_t in_unit = k % (32 * layout.n_blocks), b = in_unit / 32;
    const uint8_t* unit = group + unit_bytes(layout) * (k / (32 * layout.n_blocks));
    const ScaleAndMin s = scale_at(layout, unit, column, in_unit);
    const int q =
        get_weight(layout, unit + layout.block_begin + layout.block_bytes * b, k % 32, column);
    const int value = layout.level != nullptr ? layout.level(q) : q - layout.zero;
    out[k] = s.scale * static_cast<float>(value) + s.min;
  }
}

}  // namespace tempo9::cpu
