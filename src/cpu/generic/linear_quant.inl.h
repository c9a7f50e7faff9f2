// y = W x with quantised weights and int8 activations. One order for every row count: within a
// block of 32 (16 for formats with halves) integers add exactly, blocks add in ascending order by
// one fused multiply-add each. So the same row gives the same bits alone, in a batch, on any number
// of threads and on any table. Included inside a table's namespace, after formats.inl.h.

// Reads blocks straight from the packed matrix: for few rows, weights stream once and are never
// stored decoded.
template <class Format>
struct DirectSource {
  using F = Format;
  const uint8_t* group;
  struct Block {
    DecodedBlock d;
    T9_INLINE U8 w(int j, int) const { return d.w[j]; }
    T9_INLINE F32 scale(int, int half) const { return d.scale[half]; }
    T9_INLINE F32 min(int) const { return d.min; }
  };
  T9_INLINE Block block(uint32_t b) const {
    Block out;
    F::decode(group + F::kBytes * (b / F::kBlocks), b % F::kBlocks, out.d);
    return out;
  }
};

// What a decoded block still needs to know of its format; formats that agree here share their
// tiles.
template <int kZeroPoint, bool kHasMin, bool kHasHalves>
struct Decoded {
  static constexpr int kZero = kZeroPoint;
  static constexpr bool kMin = kHasMin, kHalves = kHasHalves;
};
template <class Format>
using DecodedAs = Decoded<Format::kZero, Format::kMin, Format::kHalves>;

// Reads blocks decoded beforehand: for many rows, the decoding is paid once and shared.
// Per block: [8][kGroups][64] weights, then f32 [kGroups][16] each of scale 0, scale 1, min.
template <class Kind, int kGroups>
struct PanelSource {
  using F = Kind;
  static constexpr size_t kBlockBytes = kGroups * (8 * 64 + 3 * 64);
  const uint8_t* panel;
  struct Block {
    const uint8_t* p;
    T9_INLINE U8 w(int j, int g) const { return load_bytes(p + 64 * (kGroups * j + g)); }
    T9_INLINE F32 scale(int g, int half) const { return floats(half * kGroups + g); }
    T9_INLINE F32 min(int g) const { return floats(2 * kGroups + g); }
    T9_INLINE F32 floats(int i) const {
      return load(reinterpret_cast<const float*>(p + 64 * (8 * kGroups + i)));
    }
  };
  T9_INLINE Block block(uint32_t b) const { return {panel + kBlockBytes * b}; }
};

template <class Format, int kGroups>
static void decode_panel(const LinearArgs& args, uint32_t group, uint8_t* panel) {
  for (uint32_t b = 0; b < args.x_quant.n_blocks; ++b) {
    uint8_t* p = panel + PanelSource<DecodedAs<Format>, kGroups>::kBlockBytes * b;
    for (int g = 0; g < kGroups; ++g) {
      const uint8_t* packed = args.weights + args.group_bytes * (group + static_cast<uint32_t>(g));
      DecodedBlock d;
      Format::decode(packed + Format::kBytes * (b / Format::kBlocks), b % Format::kBlocks, d);
      for (int j = 0; j < 8; ++j) store_bytes(p + 64 * (kGroups * j + g), d.w[j]);
      float* floats = reinterpret_cast<float*>(p + 64 * 8 * kGroups);
      store(floats + 16 * g, d.scale[0]);
      if constexpr (Format::kHalves) store(floats + 16 * (kGroups + g), d.scale[1]);
      if constexpr (Format::kMin) store(floats + 16 * (2 * kGroups + g), d.min);
    }
  }
}

// kRows rows from row0 on, kGroups groups of 16 columns from group on.
template <class Source, int kRows, int kGroups>
static void linear_tile(const Source& source, const LinearArgs& args, uint32_t row0,
                        uint32_t group) {
  using F = typename Source::F;
  const QuantRows& x = args.x_quant;
  const size_t n_blocks = x.n_blocks;
  const int8_t* q = x.q + row0 * n_blocks * kBlock;
  const float* block_scale = x.block_scale + row0 * n_blocks;
  const float* block_sum = x.block_sum + row0 * n_blocks;
  const int32_t* half_sum = x.half_sum + row0 * n_blocks * 2;

  F32 acc[kRows][kGroups];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) acc[r][g] = zero();
  }
  constexpr int kParts = F::kHalves ? 2 : 1;
  constexpr int kSteps = 8 / kParts;
  for (size_t b = 0; b < n_blocks; ++b) {
    const auto block = source.block(static_cast<uint32_t>(b));
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      I32 sum[kRows][kGroups];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const int32_t* s = half_sum + 2 * (static_cast<size_t>(r) * n_blocks + b);
        const I32 start = start_dot<F::kZero>(F::kZero == 0 ? 0
                                              : F::kHalves  ? s[part]
                                                            : s[0] + s[1]);
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) sum[r][g] = start;
      }
#pragma GCC unroll 8
      for (int j = 0; j < kSteps; ++j) {
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) {
          const U8 w = block.w(part * kSteps + j, g);
#pragma GCC unroll 16
          for (int r = 0; r < kRows; ++r) {
            const int8_t* a =
                q + (static_cast<size_t>(r) * n_blocks + b) * kBlock + 4 * (part * kSteps + j);
            sum[r][g] = dot<F::kZero>(sum[r][g], w, a);
          }
        }
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        const F32 scale = block.scale(g, part);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const size_t at = static_cast<size_t>(r) * n_blocks + b;
          acc[r][g] = fma(to_f32(sum[r][g]), mul(scale, set1(block_scale[at])), acc[r][g]);
        }
      }
    }
    if constexpr (F::kMin) {
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        const F32 m = block.min(g);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          acc[r][g] = fma(m, set1(block_sum[static_cast<size_t>(r) * n_blocks + b]), acc[r][g]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const F32 y = mul(acc[r][g], set1(x.row_scale[row0 + static_cast<uint32_t>(r)]));
      finish(args, row0 + static_cast<uint32_t>(r), group + static_cast<uint32_t>(g), y);
    }
  }
}

// Rows [row0, n_rows) in tiles of at most kRows.
template <class Source, int kRows, int kGroups>
static void linear_rows(const Source& source, const LinearArgs& args, uint32_t row0,
                        uint32_t group) {
  for (; row0 + kRows <= args.n_rows; row0 += kRows)
    linear_tile<Source, kRows, kGroups>(source, args, row0, group);
  if constexpr (kRows > 1) {
    if (row0 < args.n_rows) linear_rows<Source, kRows - 1, kGroups>(source, args, row0, group);
  }
}

template <class Format>
static void linear_quant(const LinearArgs& args) {
  using Panel = PanelSource<DecodedAs<Format>, kTileGroups>;
  uint32_t group = args.group_begin;
  if (args.n_rows > 2 * kDirectRows) {
    uint8_t* panel = static_cast<uint8_t*>(args.scratch);
    for (; group + kTileGroups <= args.group_end; group += kTileGroups) {
      decode_panel<Format, kTileGroups>(args, group, panel);
      linear_rows<Panel, kTileRows, kTileGroups>({panel}, args, 0, group);
    }
  }
  for (; group < args.group_end; ++group) {
    linear_rows<DirectSource<Format>, kDirectRows, 1>({args.weights + args.group_bytes * group},
                                                      args, 0, group);
  }
}
