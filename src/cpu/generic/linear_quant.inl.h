// y = W x with quantised weights and int8 activations. One order for every row count: within a
// block of 32 (16 for formats with halves) integers add exactly, blocks add in ascending order by
// one fused multiply-add each. So the same row gives the same bits alone, in a batch, on any number
// of threads and on any table. Included inside a table's namespace, after formats.inl.h.

// Dots on their way into a sum: the sum itself, unless the table says T9_NARROW_DOTS and adds a run
// of them in narrower integers first.
#ifndef T9_NARROW_DOTS
using Dots = I32;
constexpr int dots_a_run(int) { return 8; }
T9_SIMD Dots begin_dots(I32 sum) { return sum; }
T9_SIMD I32 end_dots(I32, Dots dots) { return dots; }
#endif

// What a decoded block still needs to know of its format; formats that agree here share their
// tiles.
template <int kZeroPoint, bool kHasMin, bool kHasHalves, int kRunOfDots>
struct Decoded {
  static constexpr int kZero = kZeroPoint, kRun = kRunOfDots;
  static constexpr bool kMin = kHasMin, kHalves = kHasHalves;
};
// Registers of a block, or of its half, whose dots are added before they are widened: as many as
// the table allows for the format's greatest weight.
template <class Format>
constexpr int run_of_dots() {
  constexpr int kSteps = Format::kHalves ? 4 : 8;
  int run = kSteps;
  while (run > dots_a_run(Format::kMaxWeight)) run /= 2;
  return run;
}
template <class Format>
using DecodedAs = Decoded<Format::kZero, Format::kMin, Format::kHalves, run_of_dots<Format>()>;

// Reads blocks straight from the packed matrix: for few rows, weights stream once and are never
// stored decoded.
template <class Format>
struct DirectSource {
  using F = DecodedAs<Format>;
  const uint8_t* group;
  T9_INLINE void before_tile() const {}
  struct Block {
    DecodedBlock d;
    T9_INLINE U8 w(int j, int) const { return d.w[j]; }
    T9_INLINE F32 scale(int, int half) const { return d.scale[half]; }
    T9_INLINE F32 min(int, int half) const { return d.min[half]; }
  };
  T9_INLINE Block block(uint32_t b) const {
    Block out;
    // Further ahead than the processor's own prefetching goes: a seventh more of its read
    // bandwidth.
    constexpr size_t kAhead = 4096, kLine = 64, kBlockBytes = Format::kBytes / Format::kBlocks;
    const uint8_t* ahead = group + kBlockBytes * b + kAhead;
#pragma GCC unroll 16
    for (size_t at = 0; at < kBlockBytes; at += kLine) __builtin_prefetch(ahead + at);
    Format::decode(group + Format::kBytes * (b / Format::kBlocks), b % Format::kBlocks, out.d);
    return out;
  }
};

// The packed weights of the panel after this one. Tiles read nothing from memory, so some of it is
// fetched in front of each of them: with few tiles a panel, waiting for it would take longer than
// decoding.
struct NextPanel {
  const uint8_t* packed;  // of its first group
  size_t group_bytes, n_bytes, bytes_a_tile;
  size_t at = 0;
  T9_INLINE void fetch_some() {
    const size_t end = at + bytes_a_tile < n_bytes ? at + bytes_a_tile : n_bytes;
    for (; at < end; at += 64) {
#pragma GCC unroll 4
      for (size_t g = 0; g < kTileGroups; ++g)
        __builtin_prefetch(packed + g * group_bytes + at, 0, 2);
    }
  }
};

// Reads blocks decoded beforehand: for many rows, the decoding is paid once and shared.
// Per block: [8][kGroups][64] weights, then f32 [kGroups][16] each of the scales and the minima
// that the format has.
template <class Kind, int kGroups>
struct PanelSource {
  using F = Kind;
  static constexpr int kParts = F::kHalves ? 2 : 1;
  static constexpr int kFloats = F::kMin ? 2 * kParts : kParts;
  static constexpr size_t kBlockBytes = kGroups * (8 + kFloats) * 64;
  static_assert(kBlockBytes * kPanelBlocks <= kPanelBytes);
  const uint8_t* panel;
  NextPanel* next;
  T9_INLINE void before_tile() const { next->fetch_some(); }
  struct Block {
    const uint8_t* p;
    T9_INLINE U8 w(int j, int g) const { return load_bytes(p + 64 * (kGroups * j + g)); }
    T9_INLINE F32 scale(int g, int half) const { return floats(half * kGroups + g); }
    T9_INLINE F32 min(int g, int half) const { return floats((kParts + half) * kGroups + g); }
    T9_INLINE F32 floats(int i) const {
      return load(reinterpret_cast<const float*>(p + 64 * (8 * kGroups + i)));
    }
  };
  T9_INLINE Block block(uint32_t b) const { return {panel + kBlockBytes * b}; }
};

// Blocks of 32 inputs that one pass covers.
struct Span {
  uint32_t begin, end;
};

template <class Format, int kGroups>
static void decode_panel(const LinearArgs& args, Span span, uint32_t group, uint8_t* panel) {
  using Panel = PanelSource<DecodedAs<Format>, kGroups>;
  for (uint32_t b = span.begin; b < span.end; ++b) {
    uint8_t* p = panel + Panel::kBlockBytes * (b - span.begin);
    for (int g = 0; g < kGroups; ++g) {
      const uint8_t* packed = args.weights + args.group_bytes * (group + static_cast<uint32_t>(g));
      DecodedBlock d;
      Format::decode(packed + Format::kBytes * (b / Format::kBlocks), b % Format::kBlocks, d);
      for (int j = 0; j < 8; ++j) store_bytes(p + 64 * (kGroups * j + g), d.w[j]);
      float* floats = reinterpret_cast<float*>(p + 64 * 8 * kGroups);
      for (int part = 0; part < Panel::kParts; ++part) {
        store(floats + 16 * (part * kGroups + g), d.scale[part]);
        if constexpr (Format::kMin)
          store(floats + 16 * ((Panel::kParts + part) * kGroups + g), d.min[part]);
      }
    }
  }
}

// -kZero times a sum that comes multiplied by -kUnit; both are powers of two.
template <int kZero, int kUnit>
T9_SIMD I32 start_dot(I32 sum) {
  static_assert((kZero & (kZero - 1)) == 0);
  if constexpr (kZero == 0 || (kZero == 128 && kSignedDot)) {
    return izero();
  } else if constexpr (kZero > kUnit) {
    return shift_left(sum, __builtin_ctz(kZero / kUnit));
  } else if constexpr (kZero < kUnit) {
    return shift_right(sum, __builtin_ctz(kUnit / kZero));
  } else {
    return sum;
  }
}

// What the integer sum of a block (or of its half `part`) starts from: -kZero times the sum of its
// activations.
template <class F>
T9_SIMD I32 start_sum(const QuantBlock& x, int part) {
  const I32 whole = iset1(x.minus_16_sum);
  if constexpr (F::kHalves) {
    const I32 first = iset1(x.minus_32_half);
    return start_dot<F::kZero, 32>(part == 0 ? first : isub(shift_left(whole, 1), first));
  } else {
    return start_dot<F::kZero, 16>(whole);
  }
}

// The sum of a block's activations (or of its half `part`), as floats: an exact integer times the
// scale.
template <class F>
T9_SIMD F32 float_sum(const QuantBlock& x, int part) {
  if constexpr (!F::kHalves) return set1(x.sum);
  const int32_t minus_32_sum = part == 0 ? x.minus_32_half : 2 * x.minus_16_sum - x.minus_32_half;
  return set1(static_cast<float>(minus_32_sum) * (x.scale * -0x1p-5f));
}

// kRows rows from row0 on, kGroups groups of 16 columns from group on, over a span of blocks.
// `partial` [rows][kGroups][16] hands the sums from span to span.
template <class Source, int kRows, int kGroups>
static void linear_tile(const Source& source, const LinearArgs& args, Span span, float* partial,
                        uint32_t row0, uint32_t group) {
  using F = typename Source::F;
  const size_t n_blocks = args.x_quant.n_blocks;
  const QuantBlock* x[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
    x[r] = args.x_quant.blocks + (row0 + static_cast<size_t>(r)) * n_blocks + span.begin;
  partial += size_t{row0} * kGroups * kLanes;

  F32 acc[kRows][kGroups];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g)
      acc[r][g] = span.begin == 0 ? zero() : load(partial + (r * kGroups + g) * 16);
  }
  constexpr int kParts = F::kHalves ? 2 : 1;
  constexpr int kSteps = 8 / kParts;
  for (uint32_t b = 0; b < span.end - span.begin; ++b) {
    // A register a row: an instruction that reads memory at the sum of two registers is split in
    // two.
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) asm("" : "+r"(x[r]));
    const auto block = source.block(b);
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      I32 sum[kRows][kGroups];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const I32 start = start_sum<F>(*x[r], part);
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) sum[r][g] = start;
      }
#pragma GCC unroll 8
      for (int run = part * kSteps; run < (part + 1) * kSteps; run += F::kRun) {
        Dots dots[kRows][kGroups];
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
          for (int g = 0; g < kGroups; ++g) dots[r][g] = begin_dots(sum[r][g]);
        }
#pragma GCC unroll 8
        for (int j = run; j < run + F::kRun; ++j) {
          U8 w[kGroups];
#pragma GCC unroll 4
          for (int g = 0; g < kGroups; ++g) w[g] = block.w(j, g);
#pragma GCC unroll 16
          for (int r = 0; r < kRows; ++r) {
            const int8_t* q = x[r]->q + 4 * j;
            if constexpr (kGroups == 1) {
              dots[r][0] = dot_at<F::kZero>(dots[r][0], w[0], q);
            } else {
              const I32 a = broadcast_32(q);
#pragma GCC unroll 4
              for (int g = 0; g < kGroups; ++g) dots[r][g] = dot<F::kZero>(dots[r][g], w[g], a);
            }
          }
        }
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
          for (int g = 0; g < kGroups; ++g) sum[r][g] = end_dots(sum[r][g], dots[r][g]);
        }
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        const F32 scale = block.scale(g, part);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const F32 x_scale = set1(x[r]->scale);
          acc[r][g] = fma(to_f32(sum[r][g]), mul(scale, x_scale), acc[r][g]);
        }
      }
    }
    if constexpr (F::kMin) {
#pragma GCC unroll 2
      for (int part = 0; part < kParts; ++part) {
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) {
          const F32 m = block.min(g, part);
#pragma GCC unroll 16
          for (int r = 0; r < kRows; ++r) {
            acc[r][g] = fma(m, float_sum<F>(*x[r], part), acc[r][g]);
          }
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) ++x[r];
  }
  if (span.end < n_blocks) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) store(partial + (r * kGroups + g) * 16, acc[r][g]);
    }
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const uint32_t row = row0 + static_cast<uint32_t>(r);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      finish(args, row, group + static_cast<uint32_t>(g), acc[r][g]);
    }
  }
}

// Rows [row0, n_rows) in tiles of at most kRows.
template <class Source, int kRows, int kGroups>
static void linear_rows(const Source& source, const LinearArgs& args, Span span, float* partial,
                        uint32_t row0, uint32_t group) {
  for (; row0 + kRows <= args.n_rows; row0 += kRows) {
    source.before_tile();
    linear_tile<Source, kRows, kGroups>(source, args, span, partial, row0, group);
  }
  if constexpr (kRows > 1) {
    if (row0 < args.n_rows)
      linear_rows<Source, kRows - 1, kGroups>(source, args, span, partial, row0, group);
  }
}

template <class Format>
static NextPanel next_panel(const LinearArgs& args, Span span, uint32_t group) {
  const size_t n_bytes =
      group + kTileGroups > args.group_end
          ? 0
          : Format::kBytes * ((span.end - span.begin + Format::kBlocks - 1) / Format::kBlocks);
  const size_t n_tiles = (args.n_rows + kTileRows - 1) / kTileRows;
  return {args.weights + args.group_bytes * group + Format::kBytes * (span.begin / Format::kBlocks),
          args.group_bytes, n_bytes, (n_bytes / n_tiles + 64) / 64 * 64};
}

template <class Format>
static void linear_quant(const LinearArgs& args) {
  static_assert(kTileGroups <= static_cast<int>(kMaxTileGroups));
  using Panel = PanelSource<DecodedAs<Format>, kTileGroups>;
  const uint32_t n_blocks = args.x_quant.n_blocks;
  uint8_t* panel = static_cast<uint8_t*>(args.scratch);
  float* partial = reinterpret_cast<float*>(panel + kPanelBytes);
  uint32_t group = args.group_begin;
  if (args.n_rows > 2 * kDirectRows) {
    const auto span_from = [&](uint32_t begin) {
      return Span{begin, begin + kPanelBlocks < n_blocks ? begin + kPanelBlocks : n_blocks};
    };
    for (; group + kTileGroups <= args.group_end; group += kTileGroups) {
      for (Span span = span_from(0); span.begin < n_blocks; span = span_from(span.end)) {
        decode_panel<Format, kTileGroups>(args, span, group, panel);
        NextPanel next = next_panel<Format>(
            args, span_from(span.end < n_blocks ? span.end : 0),
            span.end < n_blocks ? group : group + static_cast<uint32_t>(kTileGroups));
        linear_rows<Panel, kTileRows, kTileGroups>({panel, &next}, args, span, partial, 0, group);
      }
    }
  }
  for (; group < args.group_end; ++group) {
    linear_rows<DirectSource<Format>, kDirectRows, 1>({args.weights + args.group_bytes * group},
                                                      args, {0, n_blocks}, partial, 0, group);
  }
}
