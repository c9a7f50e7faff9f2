// Attention over paged KV, in f32. Defined on a fixed grid of 256 keys: per cell m = max s, p =
// e^(s - m), l = sum p, o = sum p v in key order; cells merge oldest first. Rows, heads and threads
// never change the order. A masked key still meets a zero weight, and a page's unused slots hold
// what was there before: so values are always stored finite. A key or value that is not makes its
// key no number, and with it the scores of those who see it. Layout: cpu/kv_layout.h. Source:
// online softmax, Milakov and Gimelshein 2018 (arXiv:1805.02867). Included inside a table's
// namespace, after rows.inl.h.

struct KvF16 {
  using Element = uint16_t;
  static constexpr size_t kBytes = 2;
  static constexpr Element kNoNumber = 0x7E00;
  T9_SIMD F32 read(const uint8_t* p) { return load_f16(p); }
  T9_SIMD void write(Element* p, F32 x) {
    store_f16(p, max(min(x, set1(65504.0f)), set1(-65504.0f)));
  }
};
struct KvF32 {
  using Element = float;
  static constexpr size_t kBytes = 4;
  static constexpr Element kNoNumber = __builtin_nanf("");
  T9_SIMD void write(Element* p, F32 x) { store(p, x); }
  T9_SIMD F32 read(const uint8_t* p) { return load(reinterpret_cast<const float*>(p)); }
};

T9_SIMD uint32_t padded_dim(uint32_t head_dim) { return (head_dim + kLanes - 1) / kLanes * kLanes; }

// The maximum before any cell: below every score, and never subtracted from itself before a cell is
// merged.
constexpr float kBelowAll = -3e38f;

// One tile of query vectors: pointers and the keys each may see.
template <int kN>
struct QueryTile {
  const float* q[kN];
  float* scores[kN];            // [256], becomes p
  float* cell_out[kN];          // [head_dim]
  uint32_t begin[kN], end[kN];  // keys of this cell it sees, relative to the cell
};

template <class Kv, int kN>
static void score_page(const AttentionArgs& args, const QueryTile<kN>& t, const uint8_t* k,
                       uint32_t key0) {
  F32 acc[kN][2];
#pragma GCC unroll 16
  for (int i = 0; i < kN; ++i) acc[i][0] = acc[i][1] = zero();
  for (uint32_t d = 0; d < args.head_dim; ++d) {
    const F32 k0 = Kv::read(k + Kv::kBytes * kPageKeys * d);
    const F32 k1 = Kv::read(k + Kv::kBytes * (kPageKeys * d + kLanes));
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
      const F32 q = set1(t.q[i][d]);
      acc[i][0] = fma(q, k0, acc[i][0]);
      acc[i][1] = fma(q, k1, acc[i][1]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kN; ++i) {
    store(t.scores[i] + key0, mul(acc[i][0], set1(args.scale)));
    store(t.scores[i] + key0 + kLanes, mul(acc[i][1], set1(args.scale)));
  }
}

// cell_out[d0 .. d0 + 16 kD) = sum over keys of p v, in key order.
template <class Kv, int kN, int kD>
static void weigh_values(const AttentionArgs& args, const QueryTile<kN>& t, const uint8_t* const* v,
                         uint32_t n_keys, uint32_t d0) {
  F32 acc[kN][kD];
#pragma GCC unroll 16
  for (int i = 0; i < kN; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kD; ++j) acc[i][j] = zero();
  }
  for (uint32_t key = 0; key < n_keys; ++key) {
    const uint8_t* row =
        v[key / kPageKeys] + Kv::kBytes * ((key % kPageKeys) * padded_dim(args.value_dim) + d0);
    F32 value[kD];
#pragma GCC unroll 8
    for (int j = 0; j < kD; ++j)
      value[j] = Kv::read(row + Kv::kBytes * kLanes * static_cast<size_t>(j));
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) {
      const F32 p = set1(t.scores[i][key]);
#pragma GCC unroll 8
      for (int j = 0; j < kD; ++j) acc[i][j] = fma(p, value[j], acc[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kN; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kD; ++j)
      store(t.cell_out[i] + d0 + kLanes * static_cast<uint32_t>(j), acc[i][j]);
  }
}

// Turns scores into p; gives the cell's maximum and sum. A query that sees no key of the cell gets
// m = -inf.
T9_SIMD void soften(float* scores, uint32_t begin, uint32_t end, uint32_t n_keys, float* m,
                    float* l) {
  const float kMinusInfinity = -__builtin_inff();
  if (begin >= end) {
    *m = kMinusInfinity;
    *l = 0;
    for (uint32_t i = 0; i < n_keys; i += kLanes) store(scores + i, zero());
    return;
  }
  F32 top = set1(kMinusInfinity);
  for (uint32_t i = 0; i < n_keys; i += kLanes) {
    F32 s = load(scores + i);
    if (begin > i) s = fill_below(s, begin - i, kMinusInfinity);
    if (end < i + kLanes) s = fill_from(s, end > i ? end - i : 0, kMinusInfinity);
    store(scores + i, s);
    top = max(top, s);
  }
  *m = reduce_max(top);
  F32 sum = zero();
  for (uint32_t i = 0; i < n_keys; i += kLanes) {
    const F32 p = exp(sub(load(scores + i), set1(*m)));
    store(scores + i, p);
    sum = add(sum, p);
  }
  *l = reduce_add(sum);
}

// What scores are exponents of.
struct BaseE {
  static constexpr float kScoreUnits = 1.0f;  // in which a natural score is counted
  T9_SIMD F32 raise(F32 x) { return exp(x); }
};
struct BaseTwo {
  static constexpr float kScoreUnits = 1.44269504088896341f;
  T9_SIMD F32 raise(F32 x) { return exp2(x); }
};

// A query's running state: out (unnormalised), m, l.
template <class Base>
T9_SIMD void merge_cell(float* out, float* m, float* l, const float* cell_out, float cell_m,
                        float cell_l, uint32_t head_dim) {
  if (cell_l == 0) return;  // saw nothing of the cell
  const float new_m = *m > cell_m ? *m : cell_m;
  float factor[16];
  store(factor, Base::raise(sub(set1(*m), set1(new_m))));
  const F32 keep = set1(factor[0]);
  store(factor, Base::raise(sub(set1(cell_m), set1(new_m))));
  const F32 take = set1(factor[0]);
  for (uint32_t d = 0; d < head_dim; d += kLanes) {
    store(out + d, fma(load(out + d), keep, mul(load(cell_out + d), take)));
  }
  float sums[16];
  store(sums, fma(set1(*l), keep, mul(set1(cell_l), take)));
  *l = sums[0];
  *m = new_m;
}

// The sink of query i's head, after all cells: takes its share and weighs no value.
template <class Base>
T9_SIMD void merge_sink(const AttentionArgs& args, uint32_t i, float* out, float* m, float* l) {
  if (args.sinks == nullptr) return;
  const float sink = args.sinks[i % args.n_group_heads] * Base::kScoreUnits;
  const float new_m = *m > sink ? *m : sink;
  float keep[16], sums[16];
  store(keep, Base::raise(sub(set1(*m), set1(new_m))));
  const F32 factor = set1(keep[0]);
  for (uint32_t d = 0; d < padded_dim(args.value_dim); d += kLanes)
    store(out + d, mul(load(out + d), factor));
  store(sums, fma(set1(*l), factor, Base::raise(sub(set1(sink), set1(new_m)))));
  *l = sums[0];
  *m = new_m;
}

// A cell's result goes into the running state, or stays behind it for merge_cells.
template <class Base>
T9_SIMD void end_cell(const AttentionArgs& args, float* out, float* m, float* l, float* cell_out,
                      float cell_m, float cell_l) {
  const uint32_t dim = padded_dim(args.value_dim);
  if (args.cells != nullptr) {
    cell_out[dim] = cell_m;
    cell_out[dim + 1] = cell_l;
  } else {
    merge_cell<Base>(out, m, l, cell_out, cell_m, cell_l, dim);
  }
}

// The keys of the cell from cell_begin on that a row of the call sees, relative to the cell.
T9_SIMD void seen_keys(const AttentionArgs& args, uint32_t row, uint32_t cell_begin,
                       uint32_t n_keys, uint32_t* begin, uint32_t* end) {
  const uint32_t position = args.first_position + row, past = args.end_of(position);
  const uint32_t first =
      args.window > 0 && position >= args.window ? position + 1 - args.window : 0;
  *begin = first > cell_begin ? first - cell_begin : 0;
  *end = past > cell_begin ? (past - cell_begin < n_keys ? past - cell_begin : n_keys) : 0;
}

template <class Kv, int kN>
static void attend_cell(const AttentionArgs& args, const QueryTile<kN>& t, const uint8_t* const* k,
                        const uint8_t* const* v, uint32_t n_keys, float* const* out,
                        float* const* m, float* const* l) {
  for (uint32_t key0 = 0; key0 < n_keys; key0 += kPageKeys)
    score_page<Kv, kN>(args, t, k[key0 / kPageKeys], key0);
  for (int i = 0; i < kN && args.softcap > 0; ++i) soft_cap(t.scores[i], n_keys, args.softcap);
  float cell_m[kN], cell_l[kN];
  for (int i = 0; i < kN; ++i)
    soften(t.scores[i], t.begin[i], t.end[i], n_keys, &cell_m[i], &cell_l[i]);
  uint32_t d = 0;
  const uint32_t dim = padded_dim(args.value_dim);
  for (; d + 4 * kLanes <= dim; d += 4 * kLanes) weigh_values<Kv, kN, 4>(args, t, v, n_keys, d);
  for (; d < dim; d += kLanes) weigh_values<Kv, kN, 1>(args, t, v, n_keys, d);
  for (int i = 0; i < kN; ++i)
    end_cell<BaseE>(args, out[i], m[i], l[i], t.cell_out[i], cell_m[i], cell_l[i]);
}

// Where a query's result of the cell that begins at a key is left, for calls that leave them.
T9_SIMD float* cell_place(const AttentionArgs& args, uint32_t cell_begin, uint32_t index) {
  const size_t n = size_t{args.n_rows} * args.n_group_heads;
  const size_t cell = cell_begin / kCellKeys - args.first_cell();
  return args.cells + (cell * n + index) * cell_stride(args.value_dim);
}

// The running state of a call's queries, and one tile's scratch.
struct AttentionState {
  float *out, *m, *l;        // [n][padded_dim], [n], [n]
  float *cell_out, *scores;  // [kQueryTile][padded_dim], [kQueryTile][256]
};

template <class Kv, int kN>
static void attend_tile(const AttentionArgs& args, const AttentionState& s, uint32_t first,
                        uint32_t cell_begin, const uint8_t* const* k, const uint8_t* const* v,
                        uint32_t n_keys) {
  QueryTile<kN> t;
  float *out[kN], *m[kN], *l[kN];
  for (uint32_t i = 0; i < kN; ++i) {
    const uint32_t index = first + i, row = index / args.n_group_heads,
                   head = index % args.n_group_heads;
    t.q[i] = args.q + row * args.q_row_stride + head * args.head_dim;
    t.scores[i] = s.scores + size_t{i} * kCellKeys;
    t.cell_out[i] = args.cells != nullptr ? cell_place(args, cell_begin, index)
                                          : s.cell_out + size_t{i} * padded_dim(args.value_dim);
    seen_keys(args, row, cell_begin, n_keys, &t.begin[i], &t.end[i]);
    out[i] = s.out + size_t{index} * padded_dim(args.value_dim);
    m[i] = s.m + index;
    l[i] = s.l + index;
  }
  attend_cell<Kv, kN>(args, t, k, v, n_keys, out, m, l);
}

template <class Kv, int kN>
static void attend_tiles(const AttentionArgs& args, const AttentionState& s, uint32_t first,
                         uint32_t n, uint32_t cell_begin, const uint8_t* const* k,
                         const uint8_t* const* v, uint32_t n_keys) {
  for (; first + kN <= n; first += kN)
    attend_tile<Kv, kN>(args, s, first, cell_begin, k, v, n_keys);
  if constexpr (kN > 1) {
    if (first < n) attend_tiles<Kv, kN - 1>(args, s, first, n, cell_begin, k, v, n_keys);
  }
}

// Calls attend(first key, K pages, V pages, number of keys in whole pages) for each of the call's
// cells, oldest first.
template <class Attend>
T9_SIMD void for_each_cell(const AttentionArgs& args, Attend attend) {
  const uint32_t n_keys = args.end_key();
  const bool all = args.cells == nullptr;
  const uint32_t first = all ? args.first_cell() : args.cell_begin;
  const uint32_t end = all ? args.first_cell() + args.n_cells() : args.cell_end;
  for (uint32_t cell = first * kCellKeys; cell < end * kCellKeys; cell += kCellKeys) {
    const uint32_t in_cell = n_keys - cell < kCellKeys ? n_keys - cell : kCellKeys;
    const uint32_t n_pages = (in_cell + kPageKeys - 1) / kPageKeys;
    const uint8_t *k[kCellKeys / kPageKeys], *v[kCellKeys / kPageKeys];
    for (uint32_t p = 0; p < n_pages; ++p) {
      k[p] = args.arena + args.page_stride * args.pages[cell / kPageKeys + p];
      v[p] = k[p] + args.v_offset;
    }
    attend(cell, k, v, n_pages * kPageKeys);
  }
}

// Normalises [n][padded_dim] by l and writes the rows.
T9_SIMD void write_attention(const AttentionArgs& args, const float* sums, const float* l) {
  const uint32_t dim = padded_dim(args.value_dim);
  for (uint32_t i = 0; i < args.n_rows * args.n_group_heads; ++i) {
    const F32 inverse = set1(1.0f / l[i]);
    float* out = args.out + (i / args.n_group_heads) * args.out_row_stride +
                 (i % args.n_group_heads) * args.value_dim;
    const float* sum = sums + size_t{i} * dim;
    uint32_t d = 0;
    for (; d + kLanes <= args.value_dim; d += kLanes) store(out + d, mul(load(sum + d), inverse));
    if (d < args.value_dim) store_part(out + d, mul(load(sum + d), inverse), args.value_dim - d);
  }
}

template <class Kv>
static void attention(const AttentionArgs& args) {
  const uint32_t n = args.n_rows * args.n_group_heads;
  const uint32_t dim = padded_dim(args.value_dim);
  AttentionState s;
  s.out = static_cast<float*>(args.scratch);
  s.cell_out = s.out + size_t{n} * dim;
  s.scores = s.cell_out + size_t{kQueryTile} * dim;
  s.m = s.scores + size_t{kQueryTile} * kCellKeys;
  s.l = s.m + n;
  for (uint32_t i = 0; i < n; ++i) {
    s.m[i] = kBelowAll;
    s.l[i] = 0;
  }
  for (size_t d = 0; d < size_t{n} * dim; d += kLanes) store(s.out + d, zero());
  for_each_cell(
      args, [&](uint32_t cell, const uint8_t* const* k, const uint8_t* const* v, uint32_t n_keys) {
        attend_tiles<Kv, kQueryTile>(args, s, 0, n, cell, k, v, n_keys);
      });
  if (args.cells != nullptr) return;
  for (uint32_t i = 0; i < n; ++i)
    merge_sink<BaseE>(args, i, s.out + size_t{i} * dim, s.m + i, s.l + i);
  write_attention(args, s.out, s.l);
}

template <class Base>
static void merge_cells(const AttentionArgs& args) {
  const uint32_t n = args.n_rows * args.n_group_heads, dim = padded_dim(args.value_dim);
  float* out = static_cast<float*>(args.scratch);
  float* sums = out + size_t{n} * dim;
  for (uint32_t i = 0; i < n; ++i) {
    float m = kBelowAll, l = 0;
    for (uint32_t d = 0; d < dim; d += kLanes) store(out + size_t{i} * dim + d, zero());
    for (uint32_t cell = 0; cell < args.n_cells(); ++cell) {
      const float* from = cell_place(args, (args.first_cell() + cell) * kCellKeys, i);
      merge_cell<Base>(out + size_t{i} * dim, &m, &l, from, from[dim], from[dim + 1], dim);
    }
    merge_sink<Base>(args, i, out + size_t{i} * dim, &m, &l);
    sums[i] = l;
  }
  write_attention(args, out, sums);
}

template <class Kv>
static void append_kv(const float* k, const float* v, uint32_t head_dim, uint32_t value_dim,
                      uint32_t slot, void* page_k, void* page_v) {
  using Element = typename Kv::Element;
  auto* keys = static_cast<Element*>(page_k);
  auto* values = static_cast<Element*>(page_v) + size_t{slot} * padded_dim(value_dim);
  F32 infinite = zero();
  for (uint32_t d = 0; d < head_dim; d += kLanes) {
    const uint32_t n = head_dim - d < kLanes ? head_dim - d : kLanes;
    const F32 key = load_part(k + d, n);
    Element column[kLanes];
    Kv::write(column, key);
    for (uint32_t i = 0; i < n; ++i) keys[size_t{d + i} * kPageKeys + slot] = column[i];
    infinite = see_infinite(key, infinite);
  }
  for (uint32_t d = 0; d < value_dim; d += kLanes) {
    const uint32_t n = value_dim - d < kLanes ? value_dim - d : kLanes;
    const F32 value = load_part(v + d, n);  // the padding gets zeros
    Kv::write(values + d, value);
    infinite = see_infinite(value, infinite);
  }
  if (is_finite(infinite)) return;
  keys[slot] = Kv::kNoNumber;
  for (uint32_t d = 0; d < value_dim; d += kLanes) Kv::write(values + d, zero());
}
