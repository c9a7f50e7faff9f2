#include "cpu/pack_grids.h"

#include <cstring>

#include "base/check.h"
#include "quant/half.h"
#include "quant/iq_grids.h"

namespace tempo9::cpu {
namespace {

// What all the formats hold, for 256 weights.
struct Parts {
  uint16_t d = 0;
  uint16_t index[64] = {};  // of each vector: 32 of them, IQ3 64
  uint8_t signs[32] = {};   // one bit a weight; IQ1: one for a vector of 8, moved down
  uint8_t scales[16] = {};  // one per 16 weights, or 8 per 32
};

// Scales of which two stand in a byte, the first one low.
void read_half_bytes(const uint8_t* p, int n, uint8_t* scales) {
  for (int i = 0; i < n; ++i) scales[i] = p[i / 2] >> (4 * (i % 2)) & 15;
}

// A word with four sign numbers and a scale, for the 32 weights of a block.
void read_signs_and_scale(const uint8_t* p, int block, Parts& parts) {
  const uint32_t word = quant::load_u32(p);
  for (int v = 0; v < 4; ++v)
    parts.signs[4 * block + v] = static_cast<uint8_t>(quant::iq_signs(word >> (7 * v) & 0x7F));
  parts.scales[block] = static_cast<uint8_t>(word >> 28);
}

Parts read_iq1_s(const uint8_t* p) {
  Parts parts{.d = quant::load_u16(p)};
  for (int block = 0; block < 8; ++block) {
    const uint16_t word = quant::load_u16(p + 34 + 2 * block);
    for (int v = 4 * block; v < 4 * block + 4; ++v) {
      parts.index[v] = static_cast<uint16_t>(p[2 + v] | (word >> (3 * (v % 4)) & 7) << 8);
      parts.signs[v] = static_cast<uint8_t>(word >> 15);
    }
    parts.scales[block] = word >> 12 & 7;
  }
  return parts;
}

Parts read_iq1_m(const uint8_t* p) {
  Parts parts;
  for (int v = 0; v < 32; ++v) {
    const int half_byte = p[32 + v / 2] >> (4 * (v % 2)) & 15;
    parts.index[v] = static_cast<uint16_t>(p[v] | (half_byte & 7) << 8);
    parts.signs[v] = static_cast<uint8_t>(half_byte >> 3);
  }
  for (int n = 0; n < 4; ++n) {
    const uint16_t scales = quant::load_u16(p + 48 + 2 * n);
    for (int i = 0; i < 4; ++i) parts.scales[4 * n + i] = scales >> (3 * i) & 7;
    parts.d = static_cast<uint16_t>(parts.d | (scales >> 12) << (4 * n));
  }
  return parts;
}

Parts read_iq2_xxs(const uint8_t* p) {
  Parts parts{.d = quant::load_u16(p)};
  for (int block = 0; block < 8; ++block) {
    for (int v = 0; v < 4; ++v) parts.index[4 * block + v] = p[2 + 8 * block + v];
    read_signs_and_scale(p + 2 + 8 * block + 4, block, parts);
  }
  return parts;
}

Parts read_iq2_xs(const uint8_t* p) {
  Parts parts{.d = quant::load_u16(p)};
  for (int v = 0; v < 32; ++v) {
    const uint16_t word = quant::load_u16(p + 2 + 2 * v);
    parts.index[v] = word & 0x1FF;
    parts.signs[v] = static_cast<uint8_t>(quant::iq_signs(word >> 9));
  }
  read_half_bytes(p + 66, 16, parts.scales);
  return parts;
}

Parts read_iq2_s(const uint8_t* p) {
  Parts parts{.d = quant::load_u16(p)};
  for (int v = 0; v < 32; ++v) {
    const int high = p[66 + v / 4] >> (2 * (v % 4)) & 3;
    parts.index[v] = static_cast<uint16_t>(p[2 + v] | high << 8);
  }
  std::memcpy(parts.signs, p + 34, 32);
  read_half_bytes(p + 74, 16, parts.scales);
  return parts;
}

Parts read_iq3_xxs(const uint8_t* p) {
  Parts parts{.d = quant::load_u16(p)};
  for (int v = 0; v < 64; ++v) parts.index[v] = p[2 + v];
  for (int block = 0; block < 8; ++block) read_signs_and_scale(p + 66 + 4 * block, block, parts);
  return parts;
}

Parts read_iq3_s(const uint8_t* p) {
  Parts parts{.d = quant::load_u16(p)};
  for (int v = 0; v < 64; ++v) {
    const int high = p[66 + v / 8] >> (v % 8) & 1;
    parts.index[v] = static_cast<uint16_t>(p[2 + v] | high << 8);
  }
  std::memcpy(parts.signs, p + 74, 32);
  read_half_bytes(p + 106, 8, parts.scales);
  return parts;
}

// Where things stand in a unit: d, scales in half bytes, upper bits of the indices, blocks.
struct GridLayout {
  DType type;
  Parts (*read)(const uint8_t*);
  uint32_t n_vectors;  // of a block
  uint32_t n_scales;   // of a unit in half bytes; IQ1_S has them in its words
  // Of an index, beside its low byte, in half bytes or bytes a block; IQ1 has them in its words.
  uint32_t high_bits;
  uint32_t block_bytes;

  uint32_t high_begin() const { return 32 + 8 * n_scales; }
  uint32_t block_begin() const {
    const uint32_t high_per_block = high_bits * n_vectors;  // 0, 4 or 8
    return high_begin() + 16 * high_per_block;
  }
  bool is_iq1() const { return block_bytes == 96; }
};

constexpr GridLayout kGrids[] = {
    {DType::kIQ1_S, read_iq1_s, 4, 0, 0, 96},      {DType::kIQ1_M, read_iq1_m, 4, 16, 0, 96},
    {DType::kIQ2_XXS, read_iq2_xxs, 4, 8, 0, 128}, {DType::kIQ2_XS, read_iq2_xs, 4, 16, 1, 128},
    {DType::kIQ2_S, read_iq2_s, 4, 16, 2, 128},    {DType::kIQ3_XXS, read_iq3_xxs, 8, 8, 0, 192},
    {DType::kIQ3_S, read_iq3_s, 8, 8, 1, 192},
};

const GridLayout* find_layout(DType type) {
  for (const GridLayout& layout : kGrids) {
    if (layout.type == type) return &layout;
  }
  return nullptr;
}

// Writes bits [from, from + n) of value to p from bit `at` on; the unit was zero there.
struct Put {
  template <class Value>
  void operator()(uint8_t* p, uint32_t at, uint32_t n, const Value& value, uint32_t from) const {
    for (uint32_t i = 0; i < n; ++i) {
      uint8_t& byte = p[(at + i) / 8];
      byte = static_cast<uint8_t>(byte | (value >> (from + i) & 1) << ((at + i) % 8));
    }
  }
};
// The other way round.
struct Get {
  template <class Value>
  void operator()(const uint8_t* p, uint32_t at, uint32_t n, Value& value, uint32_t from) const {
    for (uint32_t i = 0; i < n; ++i) {
      value = static_cast<Value>(value | (p[(at + i) / 8] >> ((at + i) % 8) & 1) << (from + i));
    }
  }
};

// Where each part of a column stands in a block, for either direction.
template <class Field, class Byte, class AnyParts>
void transfer_block(const GridLayout& layout, Field field, uint32_t block, uint32_t column,
                    Byte* unit, AnyParts& parts) {
  Byte* p = unit + layout.block_begin() + layout.block_bytes * block;
  const uint32_t n = layout.n_vectors, high = layout.high_bits;
  for (uint32_t v = 0; v < n; ++v) field(p + 16 * v + column, 0, 8, parts.index[n * block + v], 0);
  p += 16 * n;
  if (layout.is_iq1()) {
    const uint32_t stride = layout.n_scales == 0 ? 3 : 4;
    for (uint32_t v = 0; v < 4; ++v) {
      field(p + 2 * column, stride * v, 3, parts.index[4 * block + v], 8);
      field(p + 2 * column, stride == 3 ? 15 : 4 * v + 3, 1, parts.signs[4 * block + v], 0);
    }
    if (stride == 3) field(p + 2 * column, 12, 3, parts.scales[block], 0);
    return;
  }
  // A register's 64 signs: bit 4 * column + k % 4 for weight k.
  for (uint32_t k = 0; k < 32; k += 4)
    field(p + 8 * (k / 4), 4 * column, 4, parts.signs[4 * block + k / 8], k % 8);
  const uint32_t row = high * n == 8 ? block : block / 2;
  const uint32_t shift = high * n == 8 ? 0 : 4 * (block % 2);
  for (uint32_t v = 0; v < n && high > 0; ++v) {
    field(unit + layout.high_begin() + 16 * row + column, shift + high * v, high,
          parts.index[n * block + v], 8);
  }
}

template <class Field, class Byte, class AnyParts>
void transfer(const GridLayout& layout, Field field, uint32_t column, Byte* unit, AnyParts& parts) {
  field(unit + 2 * column, 0, 16, parts.d, 0);
  for (uint32_t i = 0; i < layout.n_scales; ++i)
    field(unit + 32 + 16 * (i / 2) + column, 4 * (i % 2), 4, parts.scales[i], 0);
  for (uint32_t block = 0; block < 8; ++block)
    transfer_block(layout, field, block, column, unit, parts);
}

// Weight i, as the codec in quant/ gives it.
float weight_at(DType type, const Parts& parts, int i) {
  const float d = quant::f16_to_f32(parts.d);
  const auto scale = [&](int weights) { return static_cast<float>(parts.scales[i / weights]); };
  const float sign = quant::iq_sign(parts.signs[i / 8], i % 8);
  const auto moved = [&](float level) {
    return level + (parts.signs[i / 8] != 0 ? -quant::kIq1Delta : quant::kIq1Delta);
  };
  const int of8 = parts.index[i / 8], of4 = parts.index[i / 4];
  switch (type) {
    case DType::kIQ1_S:
      return d * (2 * scale(32) + 1) * moved(quant::iq1_level(quant::iq1_grid(of8), i % 8));
    case DType::kIQ1_M:
      return d * (2 * scale(16) + 1) * moved(quant::iq1_level(quant::iq1_grid(of8), i % 8));
    case DType::kIQ2_XXS:
      return d * (0.5f + scale(32)) * 0.25f * quant::iq2_level(quant::iq2_xxs_grid(of8), i % 8) *
             sign;
    case DType::kIQ2_XS:
      return d * (0.5f + scale(16)) * 0.25f * quant::iq2_level(quant::iq2_xs_grid(of8), i % 8) *
             sign;
    case DType::kIQ2_S:
      return d * (0.5f + scale(16)) * 0.25f * quant::iq2_level(quant::iq2_s_grid(of8), i % 8) *
             sign;
    case DType::kIQ3_XXS:
      return d * (0.5f + scale(32)) * 0.5f * quant::iq3_xxs_level(quant::iq3_xxs_grid(of4), i % 4) *
             sign;
    default:
      return d * (2 * scale(32) + 1) * quant::iq3_s_level(quant::iq3_s_grid(of4), i % 4) * sign;
  }
}

}  // namespace

size_t grid_unit_bytes(DType type) {
  const GridLayout* layout = find_layout(type);
  return layout == nullptr ? 0 : layout->block_begin() + 8 * layout->block_bytes;
}

void pack_grid_block(DType type, const uint8_t* block, uint32_t column, uint8_t* unit) {
  const GridLayout* layout = find_layout(type);
  T9_CHECK(layout != nullptr);
  const Parts parts = layout->read(block);
  transfer(*layout, Put(), column, unit, parts);
}

void unpack_grid_block(DType type, const uint8_t* unit, uint32_t column, float* out) {
  const GridLayout* layout = find_layout(type);
  T9_CHECK(layout != nullptr);
  Parts parts;
  transfer(*layout, Get(), column, unit, parts);
  for (int i = 0; i < 256; ++i) out[i] = weight_at(type, parts, i);
}

}  // namespace tempo9::cpu
