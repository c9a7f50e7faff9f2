// The IQ1, IQ2 and IQ3 formats: a stored number chooses 4 or 8 weights at once from a codebook. The
// codebooks stand ready as bytes, so that one gather gives a register: 16 columns x 4 inputs.
// Layouts: docs/formats/packed.md; written by cpu/pack_grids.cc. Included inside a table's
// namespace, after formats.inl.h.

template <size_t kWords>
struct Codebook {
  alignas(64) uint32_t words[kWords];  // [entry][kVector / 4], four weights each
};

// kBits: of a code in a grid's entry; an entry has 16 / kBits of them, the first one lowest.
template <int kBits, size_t kEntries>
constexpr auto make_codebook(const uint16_t (&grid)[kEntries], const uint8_t* levels) {
  constexpr size_t kCodes = 16 / kBits, kWords = kCodes / 4;
  Codebook<kEntries * kWords> book{};
  for (size_t i = 0; i < kEntries; ++i) {
    for (size_t code = 0; code < kCodes; ++code) {
      const uint32_t level = levels[(grid[i] >> (kBits * code)) & ((1 << kBits) - 1)];
      book.words[kWords * i + code / 4] |= level << (8 * (code % 4));
    }
  }
  return book;
}

// Levels: quant/iq_grids.h; IQ1's are eighths, around 128.
constexpr uint8_t kIq1Levels[4] = {120, 128, 136, 0};
constexpr uint8_t kIq2Levels[4] = {8, 25, 43, 0};
constexpr uint8_t kIq3XxsLevels[16] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr uint8_t kIq3SLevels[16] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr uint16_t kIq1Grid[] = {
#include "quant/iq1_grid.inc"
};
constexpr uint16_t kIq2XxsGrid[] = {
#include "quant/iq2_xxs_grid.inc"
};
constexpr uint16_t kIq2XsGrid[] = {
#include "quant/iq2_xs_grid.inc"
};
constexpr uint16_t kIq2SGrid[] = {
#include "quant/iq2_s_grid.inc"
};
constexpr uint16_t kIq3XxsGrid[] = {
#include "quant/iq3_xxs_grid.inc"
};
constexpr uint16_t kIq3SGrid[] = {
#include "quant/iq3_s_grid.inc"
};
constexpr auto kIq1Book = make_codebook<2>(kIq1Grid, kIq1Levels);
constexpr auto kIq2XxsBook = make_codebook<2>(kIq2XxsGrid, kIq2Levels);
constexpr auto kIq2XsBook = make_codebook<2>(kIq2XsGrid, kIq2Levels);
constexpr auto kIq2SBook = make_codebook<2>(kIq2SGrid, kIq2Levels);
constexpr auto kIq3XxsBook = make_codebook<4>(kIq3XxsGrid, kIq3XxsLevels);
constexpr auto kIq3SBook = make_codebook<4>(kIq3SGrid, kIq3SLevels);

// A half byte for each block and column: two blocks share a row of 16 bytes.
T9_SIMD I32 half_byte(const uint8_t* p, uint32_t block) {
  const int shift = block % 2 == 0 ? 0 : 4;
  return iand(shift_right(load_u8_i32(p + 16 * (block / 2)), shift), iset1(15));
}
T9_SIMD F32 odd(I32 scale) { return to_f32(iadd(shift_left(scale, 1), iset1(1))); }
// d times an odd number for each half block; both numbers share a byte.
T9_SIMD void decode_odd_halves(const uint8_t* unit, uint32_t block, F32 d, DecodedBlock& out) {
  const I32 both = load_u8_i32(unit + 32 + 16 * block);
  out.scale[0] = mul(d, odd(iand(both, iset1(15))));
  out.scale[1] = mul(d, odd(shift_right(both, 4)));
}
// kBits bits of each lane from bit kBits * n on, at place kPlace.
template <int kBits, int kPlace>
T9_SIMD I32 bits_at(I32 x, int n) {
  return shift_left(iand(shift_right(x, kBits * n), iset1((1 << kBits) - 1)), kPlace);
}
// 128 + or - each weight.
T9_SIMD void put_signs(const uint8_t* p, U8* w) {
  for (int j = 0; j < 8; ++j) w[j] = around_128(w[j], p + 8 * j);
}

// Vectors of 8. Unit: d; scales, a half byte per 16 inputs or per block; the indices' upper bits;
// per block indices u8[4][16] and signs 8 x 8 bytes.
template <const auto& kBook, int kHighBits, bool kScaleHalves>
struct FormatIQ2 {
  static constexpr int kZero = 128, kBlocks = 8, kMaxWeight = 128;
  static constexpr bool kMin = false, kHalves = kScaleHalves;
  static constexpr size_t kHigh = 32 + (kHalves ? 128 : 64), kBegin = kHigh + 64 * kHighBits;
  static constexpr size_t kBytes = kBegin + 8 * 128;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    const F32 d = mul(load_f16(unit), set1(0.125f));
    if constexpr (kHalves) {
      decode_odd_halves(unit, block, d, out);
    } else {
      out.scale[0] = mul(d, odd(half_byte(unit + 32, block)));
    }
    I32 high = izero();
    if constexpr (kHighBits == 1) high = half_byte(unit + kHigh, block);
    if constexpr (kHighBits == 2) high = load_u8_i32(unit + kHigh + 16 * block);
    const uint8_t* p = unit + kBegin + 128 * block;
    for (int v = 0; v < 4; ++v) {
      I32 index = load_u8_i32(p + 16 * v);
      if constexpr (kHighBits > 0) index = iadd(index, bits_at<kHighBits, 8>(high, v));
      index = shift_left(index, 1);
      out.w[2 * v] = gather(kBook.words, index);
      out.w[2 * v + 1] = gather(kBook.words + 1, index);
    }
    put_signs(p + 64, out.w);
  }
};
using FormatIQ2_XXS = FormatIQ2<kIq2XxsBook, 0, false>;
using FormatIQ2_XS = FormatIQ2<kIq2XsBook, 1, true>;
using FormatIQ2_S = FormatIQ2<kIq2SBook, 2, true>;

// Vectors of 4. Unit: d; scales, a half byte a block; the indices' ninth bits, a byte a block; per
// block indices u8[8][16] and signs 8 x 8 bytes.
template <const auto& kBook, int kHighBits>
struct FormatIQ3 {
  static constexpr int kZero = 128, kBlocks = 8, kMaxWeight = 128;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kHigh = 32 + 64, kBegin = kHigh + 128 * kHighBits;
  static constexpr size_t kBytes = kBegin + 8 * 192;
  // IQ3_XXS counts its levels in quarters.
  static constexpr float kUnit = kHighBits == 0 ? 0.25f : 1.0f;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    out.scale[0] = mul(mul(load_f16(unit), set1(kUnit)), odd(half_byte(unit + 32, block)));
    const uint8_t* p = unit + kBegin + 192 * block;
    for (int v = 0; v < 8; ++v) {
      I32 index = load_u8_i32(p + 16 * v);
      if constexpr (kHighBits == 1) {
        index = iadd(index, bits_at<1, 8>(load_u8_i32(unit + kHigh + 16 * block), v));
      }
      out.w[v] = gather(kBook.words, index);
    }
    put_signs(p + 128, out.w);
  }
};
using FormatIQ3_XXS = FormatIQ3<kIq3XxsBook, 0>;
using FormatIQ3_S = FormatIQ3<kIq3SBook, 1>;

// Vectors of 8 ternary weights, all of them moved by an eighth up or down. Unit: d; IQ1_M: scales,
// a half byte per 16 inputs; per block low bytes of the indices u8[4][16], then u16[16]: IQ1_S's
// upper bits (3 x 4), scale (3) and direction (1), or IQ1_M's 4 x (3 + direction).
template <bool kIq1M>
struct FormatIQ1 {
  static constexpr int kZero = 128, kBlocks = 8, kMaxWeight = 128;
  static constexpr bool kMin = false, kHalves = kIq1M;
  static constexpr size_t kBegin = 32 + (kIq1M ? 128 : 0);
  static constexpr size_t kBytes = kBegin + 8 * 96;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    const F32 d = mul(load_f16(unit), set1(0.125f));
    const uint8_t* p = unit + kBegin + 96 * block;
    const I32 high = load_u16_i32(p + 64);
    if constexpr (kIq1M) {
      decode_odd_halves(unit, block, d, out);
    } else {
      out.scale[0] = mul(d, odd(bits_at<3, 0>(high, 4)));
    }
    for (int v = 0; v < 4; ++v) {
      const I32 low = load_u8_i32(p + 16 * v);
      const I32 top =
          kIq1M ? shift_left(iand(shift_right(high, 4 * v), iset1(7)), 8) : bits_at<3, 8>(high, v);
      const I32 down = iand(shift_right(high, kIq1M ? 4 * v + 3 : 15), iset1(1));
      // One eighth in all four bytes, or two less: 128 +- 8 has room, so no byte borrows.
      const I32 step = isub(iset1(0x01010101), iand(isub(izero(), down), iset1(0x02020202)));
      const I32 index = shift_left(iadd(low, top), 1);
      out.w[2 * v] = as_bytes(iadd(as_lanes(gather(kIq1Book.words, index)), step));
      out.w[2 * v + 1] = as_bytes(iadd(as_lanes(gather(kIq1Book.words + 1, index)), step));
    }
  }
};
using FormatIQ1_S = FormatIQ1<false>;
using FormatIQ1_M = FormatIQ1<true>;
