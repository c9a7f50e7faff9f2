// y = W x in f32, for F32, F16 and BF16 weights (packed [n_in][16] a group): one chain of fused
// multiply-adds over the inputs in ascending order, whatever the row count. Included inside a
// table's namespace, after simd.h.

// Writes one row's 16 columns: the matrix's scale, bias, then the residual, then the tail rule.
T9_SIMD void finish(const LinearArgs& args, uint32_t row, uint32_t group, F32 y) {
  const uint32_t column = group * kLanes;
  const uint32_t n = args.n_out - column;
  float* out = args.out + row * args.out_stride + column;
  y = mul(y, set1(args.scale));
  if (n >= kLanes) {
    if (args.bias != nullptr) y = add(y, load(args.bias + column));
    if (args.add) y = add(y, load(out));
    store(out, y);
  } else {
    if (args.bias != nullptr) y = add(y, load_part(args.bias + column, n));
    if (args.add) y = add(y, load_part(out, n));
    store_part(out, y, n);
  }
}

struct WeightF32 {
  static constexpr size_t kBytes = 64;
  T9_SIMD F32 read(const uint8_t* p) { return load(reinterpret_cast<const float*>(p)); }
};
struct WeightF16 {
  static constexpr size_t kBytes = 32;
  T9_SIMD F32 read(const uint8_t* p) { return load_f16(p); }
};
struct WeightBF16 {
  static constexpr size_t kBytes = 32;
  T9_SIMD F32 read(const uint8_t* p) { return load_bf16(p); }
};

template <class Weight, int kRows, int kGroups>
static void float_tile(const LinearArgs& args, uint32_t row0, uint32_t group) {
  const uint8_t* w[kGroups];
  for (int g = 0; g < kGroups; ++g)
    w[g] = args.weights + args.group_bytes * (group + static_cast<uint32_t>(g));
  const float* x = args.x + row0 * args.x_stride;
  F32 acc[kRows][kGroups];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) acc[r][g] = zero();
  }
  for (size_t k = 0; k < args.n_in; ++k) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const F32 weight = Weight::read(w[g] + Weight::kBytes * k);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        acc[r][g] = fma(weight, set1(x[static_cast<size_t>(r) * args.x_stride + k]), acc[r][g]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      finish(args, row0 + static_cast<uint32_t>(r), group + static_cast<uint32_t>(g), acc[r][g]);
    }
  }
}

template <class Weight, int kRows, int kGroups>
static void float_rows(const LinearArgs& args, uint32_t row0, uint32_t group) {
  for (; row0 + kRows <= args.n_rows; row0 += kRows)
    float_tile<Weight, kRows, kGroups>(args, row0, group);
  if constexpr (kRows > 1) {
    if (row0 < args.n_rows) float_rows<Weight, kRows - 1, kGroups>(args, row0, group);
  }
}

template <class Weight>
static void linear_float(const LinearArgs& args) {
  uint32_t group = args.group_begin;
  for (; group + kTileGroups <= args.group_end; group += kTileGroups) {
    float_rows<Weight, kTileRows, kTileGroups>(args, 0, group);
  }
  for (; group < args.group_end; ++group) float_rows<Weight, kTileRows, 1>(args, 0, group);
}
