// Attention in 16-bit integers: twice the multiply-adds of f32 on every x86 since SSE2 (pmaddwd,
// vpdpwssd), and exact, so the same bits on every table. The definition is attention.inl.h's: cells
// of 256 keys, merged oldest first. What is rounded:
//
//   k, v   KvI16: per key and head to a scale of max / 5792, max / 8191 (about f16's error)
//          KvLatentI16: the same, but k per key and 64 dims, and q per row, head and 64 dims: of
//          latent keys a part is rotated, whose size has nothing to do with the others'
//          KvI8:  k per key and 32 dims, v per key and head, to a scale of max / 127
//   q      per row and head to max / kQueryMax
//   p v    per page of 32 keys, the weights p * v_scale to max / kWeightMax
//
// Sums of products stay below 2^31: 5792^2 * 64 over a run of dims, 8191^2 * 32 over a page's keys.
// Scores are in units of log2. Layout: cpu/kv_layout.h. Included inside a table's namespace, after
// attention.inl.h.

constexpr float kQueryMax = 5792.0f, kWeightMax = 8191.0f;

// How integers are stored: rows of four bytes a key (K) or dim (V), which hold kPerRow neighbours
// and unfold to kPerRow / 2 vectors of 16-bit pairs.
struct KvI16 {
  static constexpr float kKeyMax = 5792.0f, kValueMax = 8191.0f;
  static constexpr uint32_t kPerRow = 2;
  static constexpr uint32_t kRunDims = 64;   // whose products are summed as integers
  static constexpr bool kScaleARun = false;  // else one a key
  static constexpr bool kScaleAQueryRun = false;
  using Element = int16_t;
  static constexpr uint32_t place(uint32_t i) { return i; }  // of a row's i-th element
  T9_SIMD void unfold(I32 row, I32* pairs) { pairs[0] = row; }
};
struct KvLatentI16 : KvI16 {
  static constexpr bool kScaleARun = true;
  static constexpr bool kScaleAQueryRun = true;
};
struct KvI8 {
  static constexpr float kKeyMax = 127.0f, kValueMax = 127.0f;
  static constexpr uint32_t kPerRow = 4;
  static constexpr uint32_t kRunDims = kQ8RunDims;
  static constexpr bool kScaleARun = true;
  static constexpr bool kScaleAQueryRun = false;
  using Element = int8_t;
  // So that the bytes at even places are the first pair.
  static constexpr uint32_t place(uint32_t i) { return i == 1 ? 2 : i == 2 ? 1 : i; }
  T9_SIMD void unfold(I32 row, I32* pairs) {
    pairs[0] = even_bytes(row);
    pairs[1] = odd_bytes(row);
  }
};

template <class Kv>
T9_SIMD uint32_t key_rows(uint32_t head_dim) {
  return (head_dim + Kv::kPerRow - 1) / Kv::kPerRow;
}
template <class Kv>
T9_SIMD uint32_t key_runs(uint32_t head_dim) {
  return Kv::kScaleARun ? (head_dim + Kv::kRunDims - 1) / Kv::kRunDims : 1;
}
// The scales of a page's 32 keys follow the keys: one row or one a run, then one of the values.
template <class Kv>
T9_SIMD const float* key_scales(const uint8_t* page_k, uint32_t head_dim, uint32_t run) {
  return reinterpret_cast<const float*>(page_k) +
         (size_t{key_rows<Kv>(head_dim)} + run) * kPageKeys;
}
template <class Kv>
T9_SIMD const float* value_scales(const uint8_t* page_k, uint32_t head_dim) {
  return key_scales<Kv>(page_k, head_dim, key_runs<Kv>(head_dim));
}

// x to integers of at most `limit`; gives the scale. n values; q gets n rounded up to 16. Values
// that are not all finite become zeros with a scale that is no number.
T9_SIMD float quantize_i16(const float* x, uint32_t n, float limit, int16_t* q) {
  const auto part = [&](uint32_t i) { return load_part(x + i, n - i < kLanes ? n - i : kLanes); };
  F32 top = zero(), infinite = zero();
  for (uint32_t i = 0; i < n; i += kLanes) {
    top = max(top, abs(part(i)));
    infinite = see_infinite(part(i), infinite);
  }
  if (!is_finite(infinite)) {
    for (uint32_t i = 0; i < n; i += kLanes) store_i16(q + i, izero());
    return __builtin_nanf("");
  }
  const float amax = reduce_max(top);
  const F32 inverse = set1(amax > 1e-30f ? limit / amax : 0.0f);
  for (uint32_t i = 0; i < n; i += kLanes) store_i16(q + i, round_to_i32(mul(part(i), inverse)));
  return amax > 1e-30f ? amax / limit : 0.0f;
}

template <class Kv>
static void append_kv_int(const float* k, const float* v, uint32_t head_dim, uint32_t value_dim,
                          uint32_t slot, void* page_k, void* page_v) {
  using Element = typename Kv::Element;
  constexpr uint32_t kPer = Kv::kPerRow;
  int16_t q[kMaxHeadDim];
  auto* keys = static_cast<Element*>(page_k) + kPer * slot;
  const uint32_t n_rows = key_rows<Kv>(head_dim), n_runs = key_runs<Kv>(head_dim);
  float* scales = static_cast<float*>(page_k) + size_t{n_rows} * kPageKeys + slot;
  const uint32_t run_dims = Kv::kScaleARun ? Kv::kRunDims : head_dim;
  for (uint32_t run = 0; run < n_runs; ++run) {
    const uint32_t d = run * run_dims, n = head_dim - d < run_dims ? head_dim - d : run_dims;
    scales[size_t{run} * kPageKeys] = quantize_i16(k + d, n, Kv::kKeyMax, q + d);
  }
  for (uint32_t d = 0; d < n_rows * kPer; ++d) {
    keys[size_t{d / kPer} * kPer * kPageKeys + Kv::place(d % kPer)] = static_cast<Element>(q[d]);
  }
  const float value_scale = quantize_i16(v, value_dim, Kv::kValueMax, q);
  const bool is_number = !__builtin_isnan(value_scale);
  scales[size_t{n_runs} * kPageKeys] = is_number ? value_scale : 0.0f;
  if (!is_number) scales[0] = value_scale;  // the key's
  const uint32_t n_values = padded_dim(value_dim);
  auto* values = static_cast<Element*>(page_v) + size_t{slot / kPer} * kPer * n_values +
                 Kv::place(slot % kPer);
  for (uint32_t d = 0; d < n_values; ++d) values[kPer * d] = static_cast<Element>(q[d]);
}

template <int kN>
struct QueryTileInt {
  const int16_t* q[kN];          // [padded_dim]
  float q_scale[kN];             // with the attention scale and log2(e)
  const float* q_run_scale[kN];  // where a query has one for each run
  float* scores[kN];             // [256]
  int16_t* weights[kN];          // [256]
  float* weight_scale[kN];       // [8], a page
  float* cell_out[kN];           // [padded_dim]
  uint32_t begin[kN], end[kN];   // keys of this cell it sees, relative to the cell
  // By page: what is to be fetched while its keys, and its values, are read. Null in the tiles
  // behind a cell's first, which find all of it in the caches.
  const uint8_t *const *after_k, *const *after_v;
};

// Pages lie apart, and the processor's own prefetching ends at a page's end. Into the second-level
// cache: a cell's keys and values are more than the first.
T9_SIMD void fetch_line(const uint8_t* p) { __builtin_prefetch(p, 0, 2); }

// Scores of kV vectors of keys, that is of kV / 2 pages.
template <class Kv, int kN, int kV>
static void score_pages_int(const QueryTileInt<kN>& t, uint32_t head_dim,
                            const uint8_t* const* pages, uint32_t key0) {
  const uint8_t* const* ahead = t.after_k != nullptr ? t.after_k + key0 / kPageKeys : nullptr;
  constexpr int kPairs = Kv::kPerRow / 2;
  constexpr uint32_t kRunRows = Kv::kRunDims / Kv::kPerRow;
  const uint32_t n_rows = key_rows<Kv>(head_dim);
  F32 total[kN][kV];
#pragma GCC unroll 8
  for (int v = 0; v < kV; ++v) {
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) total[i][v] = zero();
  }
  for (uint32_t begin = 0; begin < n_rows; begin += kRunRows) {
    const uint32_t end = begin + kRunRows < n_rows ? begin + kRunRows : n_rows;
    I32 acc[kN][kV];
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kV; ++v) acc[i][v] = izero();
    }
    for (uint32_t row = begin; row < end; ++row) {
      I32 k[kV][kPairs];
#pragma GCC unroll 8
      for (int v = 0; v < kV; ++v)
        Kv::unfold(load_i32(pages[v / 2] + (size_t{row} * kPageKeys + (v % 2) * kLanes) * 4), k[v]);
#pragma GCC unroll 8
      for (int v = 0; v < kV && ahead != nullptr; ++v)
        fetch_line(ahead[v / 2] + (size_t{row} * kPageKeys + (v % 2) * kLanes) * 4);
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) {
#pragma GCC unroll 2
        for (int pair = 0; pair < kPairs; ++pair) {
          const I32 q = broadcast_32(t.q[i] + Kv::kPerRow * row + 2 * pair);
#pragma GCC unroll 8
          for (int v = 0; v < kV; ++v) acc[i][v] = dot_i16(acc[i][v], k[v][pair], q);
        }
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kV; ++v) {
      F32 scale = zero();
      if constexpr (Kv::kScaleARun) {
        scale = load(key_scales<Kv>(pages[v / 2], head_dim, begin / kRunRows) + (v % 2) * kLanes);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) {
        F32 sum = to_f32(acc[i][v]);
        if constexpr (Kv::kScaleAQueryRun) sum = mul(sum, set1(t.q_run_scale[i][begin / kRunRows]));
        total[i][v] = Kv::kScaleARun ? fma(sum, scale, total[i][v]) : add(total[i][v], sum);
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kV; ++v) {
    F32 scale = zero();
    if constexpr (!Kv::kScaleARun) {
      scale = load(key_scales<Kv>(pages[v / 2], head_dim, 0) + (v % 2) * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
      const F32 sum = Kv::kScaleARun ? total[i][v] : mul(total[i][v], scale);
      store(t.scores[i] + key0 + v * kLanes, mul(sum, set1(t.q_scale[i])));
    }
  }
}

// Scores to weights p * v_scale as integers with a scale a page; gives the cell's maximum and the
// sum of p. A query that sees no key of the cell gets m = -inf.
template <class Kv>
T9_SIMD void soften_int(float* scores, uint32_t begin, uint32_t end, uint32_t n_keys,
                        const uint8_t* const* k, uint32_t head_dim, int16_t* weights,
                        float* weight_scale, float* m, float* l) {
  const float kMinusInfinity = -__builtin_inff();
  if (begin >= end) {
    *m = kMinusInfinity;
    *l = 0;
    for (uint32_t i = 0; i < n_keys; i += kLanes) store_i16(weights + i, izero());
    for (uint32_t page = 0; page < n_keys / kPageKeys; ++page) weight_scale[page] = 0;
    return;
  }
  F32 top = set1(kMinusInfinity);
  for (uint32_t i = 0; i < n_keys; i += kLanes) {
    F32 s = load(scores + i);
    if (begin > i || end < i + kLanes) {
      if (begin > i) s = fill_below(s, begin - i, kMinusInfinity);
      if (end < i + kLanes) s = fill_from(s, end > i ? end - i : 0, kMinusInfinity);
      store(scores + i, s);
    }
    top = max(top, s);
  }
  *m = reduce_max(top);
  // In two passes, so that one page's maximum does not hold up the next page's exponentials.
  F32 sum = zero();
  float inverse[kCellKeys / kPageKeys];
  for (uint32_t page = 0; page < n_keys / kPageKeys; ++page) {
    float* s = scores + size_t{page} * kPageKeys;
    const float* v_scales = value_scales<Kv>(k[page], head_dim);
    const F32 p0 = exp2(sub(load(s), set1(*m))), p1 = exp2(sub(load(s + kLanes), set1(*m)));
    sum = add(add(sum, p0), p1);
    const F32 w0 = mul(p0, load(v_scales)), w1 = mul(p1, load(v_scales + kLanes));
    store(s, w0);
    store(s + kLanes, w1);
    const float w_max = reduce_max(max(w0, w1));
    inverse[page] = w_max > 1e-30f ? kWeightMax / w_max : 0.0f;
    weight_scale[page] = w_max > 1e-30f ? w_max * (1.0f / kWeightMax) : 0.0f;
  }
  for (uint32_t i = 0; i < n_keys; i += kLanes)
    store_i16(weights + i, round_to_i32(mul(load(scores + i), set1(inverse[i / kPageKeys]))));
  *l = reduce_add(sum);
}

// cell_out[d0 .. d0 + 16 kD) = sum over pages of scale * sum over the page's keys.
template <class Kv, int kN, int kD>
static void weigh_values_int(const QueryTileInt<kN>& t, const uint8_t* const* v, uint32_t n_pages,
                             uint32_t dim, uint32_t d0) {
  constexpr int kPairs = Kv::kPerRow / 2;
  for (uint32_t page = 0; page < n_pages; ++page) {
    const uint8_t* values = v[page] + size_t{d0} * 4;
    const uint8_t* ahead = t.after_v != nullptr ? t.after_v[page] + size_t{d0} * 4 : nullptr;
    I32 acc[kN][kD];
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kD; ++j) acc[i][j] = izero();
    }
    for (uint32_t row = 0; row < kPageKeys / Kv::kPerRow; ++row) {
      I32 value[kD][kPairs];
#pragma GCC unroll 8
      for (int j = 0; j < kD; ++j)
        Kv::unfold(load_i32(values + (size_t{row} * dim + kLanes * static_cast<size_t>(j)) * 4),
                   value[j]);
#pragma GCC unroll 8
      for (int j = 0; j < kD && ahead != nullptr; ++j)
        fetch_line(ahead + (size_t{row} * dim + kLanes * static_cast<size_t>(j)) * 4);
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) {
#pragma GCC unroll 2
        for (int pair = 0; pair < kPairs; ++pair) {
          const I32 w =
              broadcast_32(t.weights[i] + size_t{page} * kPageKeys + Kv::kPerRow * row + 2 * pair);
#pragma GCC unroll 8
          for (int j = 0; j < kD; ++j) acc[i][j] = dot_i16(acc[i][j], value[j][pair], w);
        }
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
      const F32 scale = set1(t.weight_scale[i][page]);
#pragma GCC unroll 8
      for (int j = 0; j < kD; ++j) {
        float* out = t.cell_out[i] + d0 + kLanes * static_cast<uint32_t>(j);
        store(out, fma(to_f32(acc[i][j]), scale, page == 0 ? zero() : load(out)));
      }
    }
  }
}

// The running state of a call's queries, and one tile's scratch.
struct AttentionStateInt {
  float *out, *m, *l, *q_scale;  // [n][padded value_dim], [n], [n], [n]
  float* q_run_scale;            // [n][key_runs]
  int16_t* q;                    // [n][padded head_dim]
  float *cell_out, *scores;      // [kQueryTileI16][padded value_dim], [kQueryTileI16][256]
  float* weight_scale;           // [kQueryTileI16][8]
  int16_t* weights;              // [kQueryTileI16][256]
};

template <class Kv, int kN>
static void attend_tile_int(const AttentionArgs& args, const AttentionStateInt& s, uint32_t first,
                            uint32_t cell_begin, const uint8_t* const* k, const uint8_t* const* v,
                            const uint8_t* const* next, uint32_t n_keys) {
  const uint32_t head_dim = args.head_dim, dim = padded_dim(args.value_dim);
  QueryTileInt<kN> t;
  for (uint32_t i = 0; i < kN; ++i) {
    const uint32_t index = first + i, row = index / args.n_group_heads;
    t.q[i] = s.q + size_t{index} * padded_dim(head_dim);
    t.q_scale[i] = s.q_scale[index];
    t.q_run_scale[i] = s.q_run_scale + size_t{index} * key_runs<Kv>(head_dim);
    t.scores[i] = s.scores + size_t{i} * kCellKeys;
    t.weights[i] = s.weights + size_t{i} * kCellKeys;
    t.weight_scale[i] = s.weight_scale + size_t{i} * (kCellKeys / kPageKeys);
    t.cell_out[i] =
        args.cells != nullptr ? cell_place(args, cell_begin, index) : s.cell_out + size_t{i} * dim;
    seen_keys(args, row, cell_begin, n_keys, &t.begin[i], &t.end[i]);
  }
  t.after_k = first == 0 ? v : nullptr;
  t.after_v = first == 0 ? next : nullptr;
  const uint32_t n_pages = n_keys / kPageKeys;
  uint32_t page = 0;
  for (; page + kKeyTile / 2 <= n_pages; page += kKeyTile / 2)
    score_pages_int<Kv, kN, kKeyTile>(t, head_dim, k + page, page * kPageKeys);
  for (; page < n_pages; ++page)
    score_pages_int<Kv, kN, 2>(t, head_dim, k + page, page * kPageKeys);
  for (int i = 0; i < kN && args.softcap > 0; ++i)
    soft_cap(t.scores[i], n_keys, args.softcap * BaseTwo::kScoreUnits);
  float cell_m[kN], cell_l[kN];
  for (int i = 0; i < kN; ++i) {
    soften_int<Kv>(t.scores[i], t.begin[i], t.end[i], n_keys, k, head_dim, t.weights[i],
                   t.weight_scale[i], &cell_m[i], &cell_l[i]);
  }
  uint32_t d = 0;
  for (; d + kValueTile * kLanes <= dim; d += kValueTile * kLanes)
    weigh_values_int<Kv, kN, kValueTile>(t, v, n_pages, dim, d);
  for (; d < dim; d += kLanes) weigh_values_int<Kv, kN, 1>(t, v, n_pages, dim, d);
  for (uint32_t i = 0; i < kN; ++i) {
    const uint32_t index = first + i;
    end_cell<BaseTwo>(args, s.out + size_t{index} * dim, s.m + index, s.l + index, t.cell_out[i],
                      cell_m[i], cell_l[i]);
  }
}

// A tile of n <= kN queries.
template <class Kv, int kN>
T9_SIMD void attend_tile_of(uint32_t n, const AttentionArgs& args, const AttentionStateInt& s,
                            uint32_t first, uint32_t cell, const uint8_t* const* k,
                            const uint8_t* const* v, const uint8_t* const* next, uint32_t n_keys) {
  if constexpr (kN > 0) {
    if (n == kN) return attend_tile_int<Kv, kN>(args, s, first, cell, k, v, next, n_keys);
    attend_tile_of<Kv, kN - 1>(n, args, s, first, cell, k, v, next, n_keys);
  }
}

template <class Kv>
static void attention_int(const AttentionArgs& args) {
  const uint32_t n = args.n_rows * args.n_group_heads;
  const uint32_t dim = padded_dim(args.value_dim), q_dim = padded_dim(args.head_dim);
  const uint32_t n_runs = key_runs<Kv>(args.head_dim);
  AttentionStateInt s;
  s.out = static_cast<float*>(args.scratch);
  s.cell_out = s.out + size_t{n} * dim;
  s.scores = s.cell_out + size_t{kQueryTileI16} * dim;
  s.q = reinterpret_cast<int16_t*>(s.scores + size_t{kQueryTileI16} * kCellKeys);
  s.weights = s.q + size_t{n} * q_dim;
  s.weight_scale = reinterpret_cast<float*>(s.weights + size_t{kQueryTileI16} * kCellKeys);
  s.m = s.weight_scale + size_t{kQueryTileI16} * (kCellKeys / kPageKeys);
  s.l = s.m + n;
  s.q_scale = s.l + n;
  s.q_run_scale = s.q_scale + n;
  for (uint32_t i = 0; i < n; ++i) {
    const float* q = args.q + (i / args.n_group_heads) * args.q_row_stride +
                     (i % args.n_group_heads) * args.head_dim;
    int16_t* q_int = s.q + size_t{i} * q_dim;
    s.q_scale[i] = args.scale * BaseTwo::kScoreUnits;
    if constexpr (Kv::kScaleAQueryRun) {
      for (uint32_t run = 0, d = 0; run < n_runs; ++run, d += Kv::kRunDims) {
        const uint32_t n_dims = args.head_dim - d < Kv::kRunDims ? args.head_dim - d : Kv::kRunDims;
        s.q_run_scale[size_t{i} * n_runs + run] = quantize_i16(q + d, n_dims, kQueryMax, q_int + d);
      }
    } else {
      s.q_scale[i] =
          quantize_i16(q, args.head_dim, kQueryMax, q_int) * args.scale * BaseTwo::kScoreUnits;
    }
    s.m[i] = kBelowAll;
    s.l[i] = 0;
  }
  for (size_t d = 0; d < size_t{n} * dim; d += kLanes) store(s.out + d, zero());
  uint32_t end = args.first_position + args.n_rows;  // of the keys of this call's cells
  if (args.cells != nullptr && args.cell_end * kCellKeys < end) end = args.cell_end * kCellKeys;
  for_each_cell(args, [&](uint32_t cell, const uint8_t* const* k, const uint8_t* const* v,
                          uint32_t n_keys) {
    // The keys of the next cell, where there is one.
    const uint8_t* next[kCellKeys / kPageKeys];
    for (uint32_t p = 0; p < n_keys / kPageKeys; ++p) {
      const uint32_t key = cell + kCellKeys + p * kPageKeys;
      next[p] = key < end ? args.arena + args.page_stride * args.pages[key / kPageKeys] : v[p];
    }
    // As few tiles as can be, of sizes as equal as can be.
    for (uint32_t first = 0, tiles = (n + kQueryTileI16 - 1) / kQueryTileI16; first < n; --tiles) {
      const uint32_t size = (n - first + tiles - 1) / tiles;
      attend_tile_of<Kv, kQueryTileI16>(size, args, s, first, cell, k, v, next, n_keys);
      first += size;
    }
  });
  if (args.cells != nullptr) return;
  for (uint32_t i = 0; i < n; ++i)
    merge_sink<BaseTwo>(args, i, s.out + size_t{i} * dim, s.m + i, s.l + i);
  write_attention(args, s.out, s.l);
}
