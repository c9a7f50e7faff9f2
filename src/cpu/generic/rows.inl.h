// Ops on one row. Reductions run on 16 virtual lanes and one tree (math.inl.h), so every table
// gives the same bits. Included inside a table's namespace, after math.inl.h.

// A row that is not finite becomes zeros times no number: so is every product with it.
static void quantize_row(const float* x, uint32_t n, QuantBlock* blocks) {
  constexpr float kSmallest = 1e-30f;  // below it everything is zero: scales stay normal floats
  F32 infinite = zero();
  for (uint32_t i = 0; i < n; i += kLanes) infinite = see_infinite(load(x + i), infinite);
  if (!is_finite(infinite)) {
    for (uint32_t b = 0; b < n / kBlock; ++b) {
      blocks[b] = QuantBlock{};
      blocks[b].scale = blocks[b].sum = __builtin_nanf("");
    }
    return;
  }
  for (uint32_t b = 0; b < n / kBlock; ++b) {
    QuantBlock& block = blocks[b];
    const F32 low = load(x + b * kBlock), high = load(x + b * kBlock + kLanes);
    const float largest = reduce_max(max(abs(low), abs(high)));
    const bool is_zero = !(largest > kSmallest);
    const F32 inverse = set1(is_zero ? 0.0f : 127.0f / largest);
    const I32 ql = round_to_i32(mul(low, inverse)), qh = round_to_i32(mul(high, inverse));
    store_i8(block.q, ql);
    store_i8(block.q + kLanes, qh);
    // Sums of at most 32 * 127 are exact in f32, in any order.
    const float first_half = reduce_add(to_f32(ql));
    const float sum = first_half + reduce_add(to_f32(qh));
    block.scale = is_zero ? 0.0f : largest * (1.0f / 127.0f);
    block.sum = sum * block.scale;
    block.minus_16_sum = -16 * static_cast<int32_t>(sum);
    block.minus_32_half = -32 * static_cast<int32_t>(first_half);
  }
}

static void rms_norm(const float* x, const float* w, uint32_t n, float eps, float* out,
                     bool add_to_out) {
  F32 squares = zero();
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) squares = fma(load(x + i), load(x + i), squares);
  if (i < n) {
    const F32 tail = load_part(x + i, n - i);
    squares = fma(tail, tail, squares);
  }
  const float mean = reduce_add(squares) / static_cast<float>(n);
  const F32 scale = set1(1.0f / sqrt_scalar(mean + eps));
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const F32 y = mul(mul(load(x + i), scale), load(w + i));
    store(out + i, add_to_out ? add(load(out + i), y) : y);
  }
  if (i < n) {
    const F32 y = mul(mul(load_part(x + i, n - i), scale), load_part(w + i, n - i));
    store_part(out + i, add_to_out ? add(load_part(out + i, n - i), y) : y, n - i);
  }
}

static void layer_norm(const float* x, const float* w, const float* bias, uint32_t n, float eps,
                       float* out) {
  const auto part = [&](uint32_t i) { return n - i < kLanes ? n - i : kLanes; };
  F32 sum = zero(), squares = zero();
  for (uint32_t i = 0; i < n; i += kLanes) sum = add(sum, load_part(x + i, part(i)));
  const F32 mean = set1(reduce_add(sum) / static_cast<float>(n));
  for (uint32_t i = 0; i < n; i += kLanes) {
    F32 d = sub(load_part(x + i, part(i)), mean);
    if (part(i) < kLanes) d = fill_from(d, part(i), 0.0f);
    squares = fma(d, d, squares);
  }
  const F32 scale = set1(1.0f / sqrt_scalar(reduce_add(squares) / static_cast<float>(n) + eps));
  for (uint32_t i = 0; i < n; i += kLanes) {
    const F32 d = mul(sub(load_part(x + i, part(i)), mean), scale);
    store_part(out + i, fma(d, load_part(w + i, part(i)), load_part(bias + i, part(i))), part(i));
  }
}

static void erf_gelu(const float* x, uint32_t n, float* out) {
  for (uint32_t i = 0; i < n; i += kLanes) {
    const uint32_t part = n - i < kLanes ? n - i : kLanes;
    store_part(out + i, gelu_erf(load_part(x + i, part)), part);
  }
}

// n values from f(i, n_lanes) on, 16 at a time.
template <typename Fn>
T9_SIMD void each_lanes(uint32_t n, Fn f) {
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, kLanes);
  if (i < n) f(i, n - i);
}
T9_SIMD F32 load_up_to(const float* p, uint32_t n) {
  return n < kLanes ? load_part(p, n) : load(p);
}
T9_SIMD void store_up_to(float* p, F32 x, uint32_t n) {
  n < kLanes ? store_part(p, x, n) : store(p, x);
}

static void gated_rms_norm(const float* x, const float* gate, const float* w, uint32_t n, float eps,
                           bool gate_first, float* out) {
  F32 squares = zero();
  each_lanes(n, [&](uint32_t i, uint32_t lanes) {
    F32 y = load_up_to(x + i, lanes);
    if (gate_first) y = mul(y, silu(load_up_to(gate + i, lanes)));
    squares = fma(y, y, squares);
  });
  const F32 scale = set1(1.0f / sqrt_scalar(reduce_add(squares) / static_cast<float>(n) + eps));
  each_lanes(n, [&](uint32_t i, uint32_t lanes) {
    const F32 y = load_up_to(x + i, lanes), g = silu(load_up_to(gate + i, lanes));
    const F32 weight = load_up_to(w + i, lanes);
    const F32 gated_first = mul(mul(mul(y, g), scale), weight);
    const F32 gated_last = mul(mul(mul(y, scale), weight), g);
    store_up_to(out + i, gate_first ? gated_first : gated_last, lanes);
  });
}

template <F32 (*kGated)(F32 gate, F32 up)>
static void gated(const float* gate, const float* up, uint32_t n, float* out) {
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, kGated(load(gate + i), load(up + i)));
  if (i < n)
    store_part(out + i, kGated(load_part(gate + i, n - i), load_part(up + i, n - i)), n - i);
}
static F32 silu_gate(F32 gate, F32 up) { return mul(silu(gate), up); }
static F32 gelu_gate(F32 gate, F32 up) { return mul(gelu(gate), up); }
static F32 clamped_swiglu_gate(F32 gate, F32 up) {
  const F32 limit = set1(7.0f), g = min(limit, gate);
  const F32 u = max(sub(zero(), limit), min(limit, up));
  const F32 below = add(set1(1.0f), exp(mul(g, set1(-1.702f))));
  return mul(div(g, below), add(u, set1(1.0f)));
}
static void silu_mul(const float* gate, const float* up, uint32_t n, float* out) {
  gated<silu_gate>(gate, up, n, out);
}
static void gelu_mul(const float* gate, const float* up, uint32_t n, float* out) {
  gated<gelu_gate>(gate, up, n, out);
}
static void clamped_swiglu(const float* gate, const float* up, uint32_t n, float* out) {
  gated<clamped_swiglu_gate>(gate, up, n, out);
}

static void relu_squared(const float* x, uint32_t n, float* out) {
  each_lanes(n, [&](uint32_t i, uint32_t lanes) {
    const F32 y = max(zero(), load_up_to(x + i, lanes));
    store_up_to(out + i, mul(y, y), lanes);
  });
}

static void sigmoid_gate(const float* x, const float* gate, uint32_t n_gate, uint32_t n,
                         float* out) {
  each_lanes(n, [&](uint32_t i, uint32_t lanes) {
    const F32 g = n_gate == 1 ? set1(gate[0]) : load_up_to(gate + i, lanes);
    const F32 below = add(set1(1.0f), exp(sub(zero(), g)));
    store_up_to(out + i, div(load_up_to(x + i, lanes), below), lanes);
  });
}

static void add_scaled(const float* x, float factor, uint32_t n, float* out) {
  const F32 f = set1(factor);
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, fma(load(x + i), f, load(out + i)));
  if (i < n) store_part(out + i, fma(load_part(x + i, n - i), f, load_part(out + i, n - i)), n - i);
}

static void rope(float* head, const float* cosine, const float* sine, uint32_t n_pairs, bool neox) {
  if (!neox) {
    for (uint32_t i = 0; i < n_pairs; ++i) {
      const float x = head[2 * i], y = head[2 * i + 1];
      head[2 * i] = x * cosine[i] - y * sine[i];
      head[2 * i + 1] = x * sine[i] + y * cosine[i];
    }
    return;
  }
  for (uint32_t i = 0; i < n_pairs; i += kLanes) {
    const uint32_t n = n_pairs - i < kLanes ? n_pairs - i : kLanes;
    const F32 x = load_part(head + i, n), y = load_part(head + n_pairs + i, n);
    const F32 c = load_part(cosine + i, n), s = load_part(sine + i, n);
    store_part(head + i, sub(mul(x, c), mul(y, s)), n);
    store_part(head + n_pairs + i, add(mul(x, s), mul(y, c)), n);
  }
}

static void run_maxima(const float* x, uint32_t n, float* out) {
  constexpr uint32_t kRun = 2 * kLanes;
  const float infinity = __builtin_inff();
  const F32 none = set1(-infinity);
  const auto finite = [&](F32 v) { return select_small(v, none, v, infinity); };
  for (uint32_t i = 0; i < n; i += kRun) {
    const auto part = [&](uint32_t from) {
      if (from + kLanes <= n) return finite(load(x + from));
      const uint32_t n_left = from < n ? n - from : 0;
      return fill_from(finite(load_part(x + from, n_left)), n_left, -infinity);
    };
    out[i / kRun] = reduce_max(max(part(i), part(i + kLanes)));
  }
}

static void soft_cap(float* x, uint32_t n, float cap) {
  const F32 inverse = set1(1.0f / cap), c = set1(cap);
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(x + i, mul(c, tanh(mul(load(x + i), inverse))));
  if (i < n) store_part(x + i, mul(c, tanh(mul(load_part(x + i, n - i), inverse))), n - i);
}
