// How each packed quantised format gives up one block: 32 inputs x 16 columns as eight registers of
// 16 x 4 bytes, with its scales. One struct a format; kZero is the value that a stored 0 weight
// has. Included inside a table's namespace, after its simd.h. Layouts: docs/formats/packed.md;
// written by cpu/pack.cc. kMaxWeight: the greatest byte that a weight decodes to, with a zero point
// of 128 the greatest distance from that.

struct DecodedBlock {
  U8 w[8];       // register j: inputs 4j .. 4j + 3 of each column
  F32 scale[2];  // of inputs 0 .. 15 and 16 .. 31 where the format has halves; else [0] for all
  F32 min[2];    // likewise; added once per input where the format has minima
};

// Register kRegister of weights of kBits bits, put together from its fields on.
template <int kBits, int kRegister, int kField = 0>
T9_SIMD U8 read_fields(const U8* loads, U8 w) {
  if constexpr (kField < 3) {
    constexpr WeightField kF = kWeightFields[kBits][kRegister][kField];
    if constexpr (kF.n > 0) {
      constexpr int kShift = kF.at - kF.to, kMask = ((1 << kF.n) - 1) << kF.to;
      w = kField == 0 ? take<kShift, kMask>(loads[kF.load])
                      : or_take<kShift, kMask>(w, loads[kF.load]);
      return read_fields<kBits, kRegister, kField + 1>(loads, w);
    }
  }
  return w;
}
template <int kBits, int kRegister = 0>
T9_SIMD void read_registers(const U8* loads, U8* w) {
  if constexpr (kRegister < 8) {
    w[kRegister] = read_fields<kBits, kRegister>(loads, zero_bytes());
    read_registers<kBits, kRegister + 1>(loads, w);
  }
}
template <int kBits>
T9_SIMD void decode_weights(const uint8_t* p, U8* w) {
  U8 loads[kBits];
  for (int i = 0; i < kBits; ++i) loads[i] = load_bytes(p + 64 * i);
  read_registers<kBits>(loads, w);
}

// The scales and minima of Q4_K and Q5_K; dmin is stored negated.
T9_SIMD void decode_k_scales(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
  out.scale[0] = mul(load_f16(unit), load_u8(unit + 64 + 16 * block));
  out.min[0] = mul(load_f16(unit + 32), load_u8(unit + 192 + 16 * block));
}
// The scales of Q3_K and Q6_K: a signed byte for each half block.
T9_SIMD void decode_half_scales(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
  const F32 d = load_f16(unit);
  out.scale[0] = mul(d, load_i8(unit + 32 + 32 * block));
  out.scale[1] = mul(d, load_i8(unit + 32 + 32 * block + 16));
}

struct FormatQ4_0 {
  static constexpr int kZero = 8, kBlocks = 1, kMaxWeight = 15;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    decode_weights<4>(unit + 32, out.w);
  }
};
struct FormatQ4_1 {
  static constexpr int kZero = 0, kBlocks = 1, kMaxWeight = 15;
  static constexpr bool kMin = true, kHalves = false;
  static constexpr size_t kBytes = 64 + 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    out.min[0] = load_f16(unit + 32);
    decode_weights<4>(unit + 64, out.w);
  }
};
struct FormatQ5_0 {
  static constexpr int kZero = 16, kBlocks = 1, kMaxWeight = 31;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + 320;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    decode_weights<5>(unit + 32, out.w);
  }
};
struct FormatQ5_1 {
  static constexpr int kZero = 0, kBlocks = 1, kMaxWeight = 31;
  static constexpr bool kMin = true, kHalves = false;
  static constexpr size_t kBytes = 64 + 320;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    out.min[0] = load_f16(unit + 32);
    decode_weights<5>(unit + 64, out.w);
  }
};
struct FormatQ8_0 {
  static constexpr int kZero = 128, kBlocks = 1, kMaxWeight = 128;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + 512;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    decode_weights<8>(unit + 32, out.w);
  }
};
struct FormatQ2_K {
  static constexpr int kZero = 0, kBlocks = 8, kMaxWeight = 3;
  static constexpr bool kMin = true, kHalves = true;
  static constexpr size_t kBytes = 64 + 256 + 8 * 128;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    const F32 d = load_f16(unit), m = load_f16(unit + 32);  // dmin is stored negated
    for (int half = 0; half < 2; ++half) {
      const I32 both = load_u8_i32(unit + 64 + 32 * block + 16 * half);
      out.scale[half] = mul(d, to_f32(iand(both, iset1(15))));
      out.min[half] = mul(m, to_f32(shift_right(both, 4)));
    }
    decode_weights<2>(unit + 320 + 128 * block, out.w);
  }
};
struct FormatQ3_K {
  static constexpr int kZero = 4, kBlocks = 8, kMaxWeight = 7;
  static constexpr bool kMin = false, kHalves = true;
  static constexpr size_t kBytes = 32 + 256 + 8 * 192;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    decode_half_scales(unit, block, out);
    decode_weights<3>(unit + 288 + 192 * block, out.w);
  }
};
struct FormatQ4_K {
  static constexpr int kZero = 0, kBlocks = 8, kMaxWeight = 15;
  static constexpr bool kMin = true, kHalves = false;
  static constexpr size_t kBytes = 64 + 256 + 8 * 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    decode_k_scales(unit, block, out);
    decode_weights<4>(unit + 320 + 256 * block, out.w);
  }
};
struct FormatQ5_K {
  static constexpr int kZero = 0, kBlocks = 8, kMaxWeight = 31;
  static constexpr bool kMin = true, kHalves = false;
  static constexpr size_t kBytes = 64 + 256 + 8 * 320;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    decode_k_scales(unit, block, out);
    decode_weights<5>(unit + 320 + 320 * block, out.w);
  }
};
struct FormatQ6_K {
  static constexpr int kZero = 32, kBlocks = 8, kMaxWeight = 63;
  static constexpr bool kMin = false, kHalves = true;
  static constexpr size_t kBytes = 32 + 256 + 8 * 384;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    decode_half_scales(unit, block, out);
    decode_weights<6>(unit + 288 + 384 * block, out.w);
  }
};

// Ternary weights in 2-bit fields: Q2_0, TQ1_0, TQ2_0.
template <int kBlocksAUnit>
struct FormatTernary {
  static constexpr int kZero = 1, kBlocks = kBlocksAUnit, kMaxWeight = 2;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + kBlocks * 128;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    decode_weights<2>(unit + 32 + 128 * block, out.w);
  }
};
// One bit a weight: d or -d.
struct FormatQ1_0 {
  static constexpr int kZero = 1, kBlocks = 4, kMaxWeight = 2;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + 4 * 64;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    decode_weights<1>(unit + 32 + 64 * block, out.w);
  }
};

// Nibbles that choose one of 16 levels, stored + 128. Levels: quant/iq4_nl.h, quant/mxfp4.h.
constexpr uint8_t kIq4Levels[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                    129, 141, 153, 166, 181, 197, 217, 241};
constexpr uint8_t kFp4Levels[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                    128, 127, 126, 125, 124, 122, 120, 116};
T9_SIMD void decode_levels(const uint8_t* p, const uint8_t* levels, U8* w) {
  decode_weights<4>(p, w);
  for (int j = 0; j < 8; ++j) w[j] = look_up(w[j], levels);
}

struct FormatIQ4_NL {
  static constexpr int kZero = 128, kBlocks = 1, kMaxWeight = 127;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = load_f16(unit);
    decode_levels(unit + 32, kIq4Levels, out.w);
  }
};
struct FormatIQ4_XS {
  static constexpr int kZero = 128, kBlocks = 8, kMaxWeight = 127;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 32 + 128 + 8 * 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    out.scale[0] = mul(load_f16(unit), load_i8(unit + 32 + 16 * block));
    decode_levels(unit + 160 + 256 * block, kIq4Levels, out.w);
  }
};
struct FormatMXFP4 {
  static constexpr int kZero = 128, kBlocks = 1, kMaxWeight = 12;
  static constexpr bool kMin = false, kHalves = false;
  static constexpr size_t kBytes = 16 + 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t, DecodedBlock& out) {
    out.scale[0] = as_f32(shift_left(round_to_i32(load_u8(unit)), 23));  // exponent bits
    decode_levels(unit + 16, kFp4Levels, out.w);
  }
};
struct FormatNVFP4 {
  static constexpr int kZero = 128, kBlocks = 2, kMaxWeight = 12;
  static constexpr bool kMin = false, kHalves = true;
  static constexpr size_t kBytes = 64 + 2 * 256;
  T9_SIMD void decode(const uint8_t* unit, uint32_t block, DecodedBlock& out) {
    out.scale[0] = load_e4m3_half(unit + 32 * block);
    out.scale[1] = load_e4m3_half(unit + 32 * block + 16);
    decode_levels(unit + 64 + 256 * block, kFp4Levels, out.w);
  }
};
