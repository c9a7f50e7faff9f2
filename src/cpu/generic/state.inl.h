// Layers with a state, by their recurrences themselves: columns of a state are independent, so a
// tile of them stays in the first-level cache while all rows of a call pass it. Sums over a state's
// rows go in ascending order, on fixed chains. Included inside a table's namespace, after
// rows.inl.h.

// x times scale / sqrt(sum of squares + eps), in place.
T9_SIMD void to_length(float* x, uint32_t n, float eps, float scale) {
  F32 squares = zero();
  each_lanes(n, [&](uint32_t i, uint32_t lanes) {
    const F32 y = load_up_to(x + i, lanes);
    squares = fma(y, y, squares);
  });
  const F32 factor = set1(scale / sqrt_scalar(reduce_add(squares) + eps));
  each_lanes(n, [&](uint32_t i, uint32_t lanes) {
    store_up_to(x + i, mul(load_up_to(x + i, lanes), factor), lanes);
  });
}

static void delta_gates(const DeltaGatesArgs& a) {
  for (uint32_t h = 0; h < a.n_key_heads; ++h) {
    float *q = a.q + size_t{h} * a.key_dim, *k = a.k + size_t{h} * a.key_dim;
    to_length(q, a.key_dim, a.eps, a.q_scale);
    to_length(k, a.key_dim, a.eps, 1.0f);
    F32 dot = zero();
    each_lanes(a.key_dim, [&](uint32_t i, uint32_t lanes) {
      dot = fma(load_up_to(q + i, lanes), load_up_to(k + i, lanes), dot);
    });
    a.qk[h] = reduce_add(dot);
  }
  each_lanes(a.n_value_heads, [&](uint32_t h, uint32_t lanes) {
    float alpha[kLanes] = {}, beta[kLanes] = {};
    for (uint32_t i = 0; i < lanes; ++i) {
      const uint32_t at = (h + i) / a.n_run * a.run_stride + (h + i) % a.n_run;
      alpha[i] = a.alpha[at];
      beta[i] = a.beta[at];
    }
    const F32 step = softplus(add(load(alpha), load_up_to(a.dt_bias + h, lanes)));
    store_up_to(a.decay + h, exp(mul(load_up_to(a.a + h, lanes), step)), lanes);
    store_up_to(a.beta_out + h, sigmoid(load(beta)), lanes);
  });
}

static void scan_gates(const ScanGatesArgs& a) {
  each_lanes(a.n_heads, [&](uint32_t h, uint32_t lanes) {
    const F32 dt = add(load_up_to(a.dt + h, lanes), load_up_to(a.dt_bias + h, lanes));
    const F32 step = softplus(dt);
    store_up_to(a.step + h, step, lanes);
    store_up_to(a.decay + h, exp(mul(load_up_to(a.a + h, lanes), step)), lanes);
  });
}

// The tiles from column on as the call finds them; where it finds none, zeros, put in their place.
T9_SIMD const float* state_before(const float* in, float* out, uint32_t column, size_t n_tiles,
                                  size_t tile_floats) {
  const size_t first = column / kLanes * tile_floats;
  if (in != nullptr) return in + first;
  for (size_t i = 0; i < n_tiles * tile_floats; i += kLanes) store(out + first + i, zero());
  return out + first;
}

// S^T k and S^T q of the columns of some tiles, each on two chains (even and odd rows of S).
template <int kTiles>
struct DeltaSums {
  F32 k[kTiles][2], q[kTiles][2];
};

// One pass over a state's tiles: with kWrite, out = decay * in + k_old d^T (the row that was); with
// kRead, the sums of what is then there (the row to come). A row's end and the next one's beginning
// share a pass, which changes no bits.
template <int kTiles, bool kWrite, bool kRead>
T9_SIMD void delta_pass(const float* in, float* out, size_t tile_floats, uint32_t key_dim,
                        const float* k_old, float decay, const F32* d, const float* k,
                        const float* q, DeltaSums<kTiles>& sums) {
  const F32 keep = set1(decay);
  for (int j = 0; j < kTiles; ++j) {
    for (int chain = 0; chain < 2; ++chain) sums.k[j][chain] = sums.q[j][chain] = zero();
  }
  const auto step = [&](uint32_t i, int chain) __attribute__((always_inline)) {
    for (int j = 0; j < kTiles; ++j) {
      const size_t at = static_cast<size_t>(j) * tile_floats + size_t{i} * kLanes;
      F32 s = load(in + at);
      if constexpr (kWrite) {
        s = fma(set1(k_old[i]), d[j], mul(keep, s));
        store(out + at, s);
      }
      if constexpr (kRead) {
        sums.k[j][chain] = fma(set1(k[i]), s, sums.k[j][chain]);
        sums.q[j][chain] = fma(set1(q[i]), s, sums.q[j][chain]);
      }
    }
  };
  uint32_t i = 0;
  for (; i + 2 <= key_dim; i += 2) {
    step(i, 0);
    step(i + 1, 1);
  }
  if (i < key_dim) step(i, 0);
}

// With S as it was before the row: S^T k after the decay is decay * (S^T k), and S^T q of the row's
// own result decay * (S^T q) + (k . q) d.
template <int kTiles>
static void delta_tiles(const DeltaRuleArgs& a, uint32_t column) {
  const size_t tile_floats = size_t{a.key_dim} * kLanes;
  float* state = a.state_out + column / kLanes * tile_floats;
  const float* in = state_before(a.state_in, a.state_out, column, kTiles, tile_floats);
  DeltaSums<kTiles> sums;
  F32 d[kTiles];
  delta_pass<kTiles, false, true>(in, nullptr, tile_floats, a.key_dim, nullptr, 0, nullptr, a.k,
                                  a.q, sums);
  for (uint32_t r = 0; r < a.n_rows; ++r) {
    const float* k = a.k + r * a.qkv_stride;
    const float decay = a.decay[r * a.gate_stride], qk = a.qk[r * a.gate_stride];
    for (int j = 0; j < kTiles; ++j) {
      const uint32_t c = column + static_cast<uint32_t>(j) * kLanes;
      const uint32_t lanes = a.value_dim - c < kLanes ? a.value_dim - c : kLanes;
      const F32 before = sub(zero(), mul(set1(decay), add(sums.k[j][0], sums.k[j][1])));
      const F32 v = load_up_to(a.v + r * a.qkv_stride + c, lanes);
      d[j] = mul(set1(a.beta[r * a.gate_stride]), add(v, before));
      const F32 kept = mul(set1(decay), add(sums.q[j][0], sums.q[j][1]));
      store_up_to(a.out + r * a.out_stride + c, fma(set1(qk), d[j], kept), lanes);
    }
    if (r + 1 < a.n_rows) {
      delta_pass<kTiles, true, true>(in, state, tile_floats, a.key_dim, k, decay, d,
                                     k + a.qkv_stride, a.q + (r + 1) * a.qkv_stride, sums);
    } else {
      delta_pass<kTiles, true, false>(in, state, tile_floats, a.key_dim, k, decay, d, nullptr,
                                      nullptr, sums);
    }
    in = state;
  }
}

static void delta_rule(const DeltaRuleArgs& a) {
  constexpr uint32_t kTogether = kStateTiles * kLanes;
  uint32_t column = a.column_begin;
  for (; column + kTogether <= a.column_end; column += kTogether)
    delta_tiles<kStateTiles>(a, column);
  for (; column < a.column_end; column += kLanes) delta_tiles<1>(a, column);
}

// Some rows of some tiles: a state's element is loaded once for all of them.
template <int kTiles, int kRows>
T9_SIMD void scan_rows(const ScanArgs& a, const float* in, float* out, uint32_t column,
                       uint32_t row) {
  const size_t tile_floats = size_t{a.state_dim} * kLanes;
  const float *b = a.b + row * a.xbc_stride, *c = a.c + row * a.xbc_stride;
  F32 x[kTiles][kRows], sums[kTiles][kRows], decay[kRows];
  for (uint32_t r = 0; r < kRows; ++r) {
    decay[r] = set1(a.decay[(row + r) * a.gate_stride]);
    const F32 size = set1(a.step[(row + r) * a.gate_stride]);
    for (uint32_t j = 0; j < kTiles; ++j) {
      const uint32_t at = column + j * kLanes;
      const uint32_t lanes = a.head_dim - at < kLanes ? a.head_dim - at : kLanes;
      x[j][r] = mul(size, load_up_to(a.x + (row + r) * a.xbc_stride + at, lanes));
      sums[j][r] = zero();
    }
  }
  for (uint32_t i = 0; i < a.state_dim; ++i) {
    F32 s[kTiles];
    for (uint32_t j = 0; j < kTiles; ++j) s[j] = load(in + j * tile_floats + i * kLanes);
    for (uint32_t r = 0; r < kRows; ++r) {
      const F32 bi = set1(b[r * a.xbc_stride + i]), ci = set1(c[r * a.xbc_stride + i]);
      for (uint32_t j = 0; j < kTiles; ++j) {
        s[j] = fma(bi, x[j][r], mul(decay[r], s[j]));
        sums[j][r] = fma(ci, s[j], sums[j][r]);
      }
    }
    for (uint32_t j = 0; j < kTiles; ++j) store(out + j * tile_floats + i * kLanes, s[j]);
  }
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t j = 0; j < kTiles; ++j) {
      const uint32_t at = column + j * kLanes;
      const uint32_t lanes = a.head_dim - at < kLanes ? a.head_dim - at : kLanes;
      const F32 skipped = load_up_to(a.x + (row + r) * a.xbc_stride + at, lanes);
      store_up_to(a.out + (row + r) * a.out_stride + at, fma(set1(a.d), skipped, sums[j][r]),
                  lanes);
    }
  }
}

template <int kTiles>
static void scan_tiles(const ScanArgs& a, uint32_t column) {
  const size_t tile_floats = size_t{a.state_dim} * kLanes;
  float* state = a.state_out + column / kLanes * tile_floats;
  const float* in = state_before(a.state_in, a.state_out, column, kTiles, tile_floats);
  uint32_t row = 0;
  for (; row + kScanRows <= a.n_rows; row += kScanRows, in = state)
    scan_rows<kTiles, kScanRows>(a, in, state, column, row);
  for (; row < a.n_rows; ++row, in = state) scan_rows<kTiles, 1>(a, in, state, column, row);
}

static void selective_scan(const ScanArgs& a) {
  constexpr uint32_t kTogether = kStateTiles * kLanes;
  uint32_t column = a.column_begin;
  for (; column + kTogether <= a.column_end; column += kTogether)
    scan_tiles<kStateTiles>(a, column);
  for (; column < a.column_end; column += kLanes) scan_tiles<1>(a, column);
}
