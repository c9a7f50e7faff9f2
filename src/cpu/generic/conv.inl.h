// Causal convolution, 16 columns wide, along the rows of one sequence. The inputs that later rows
// still see stay in registers, so a row's bits do not depend on where a walk begins. Included
// inside a table's namespace, after math.inl.h.

template <uint32_t kTaps>
static void causal_conv_taps(const ConvArgs& a) {
  const uint32_t n = a.n_columns;
  F32 weight[kTaps], past[kTaps - 1];
  for (uint32_t t = 0; t < kTaps; ++t) weight[t] = load_part(a.weight + a.weight_stride * t, n);
  for (uint32_t t = 0; t + 1 < kTaps; ++t)
    past[t] = a.state_in ? load_part(a.state_in + a.state_stride * t, n) : zero();
  const F32 bias = a.bias ? load_part(a.bias, n) : zero();
  const StateTarget *target = a.states_out, *const end = target + a.n_states_out;
  for (uint32_t r = 0; r < a.n_rows; ++r) {
    F32 x = load_part(a.in + a.in_stride * r, n);
    if (a.in_gate) x = mul(x, load_part(a.in_gate + a.in_stride * r, n));
    F32 y = bias;
    for (uint32_t t = 0; t + 1 < kTaps; ++t) y = fma(weight[t], past[t], y);
    y = fma(weight[kTaps - 1], x, y);
    for (uint32_t t = 0; t + 2 < kTaps; ++t) past[t] = past[t + 1];
    past[kTaps - 2] = x;
    if (a.silu) y = silu(y);
    if (a.out_gate) y = mul(y, load_part(a.out_gate + a.in_stride * r, n));
    store_part(a.out + a.out_stride * r, y, n);
    for (; target != end && target->row == r; ++target) {
      for (uint32_t t = 0; t + 1 < kTaps; ++t)
        store_part(target->state + a.state_stride * t, past[t], n);
    }
  }
}

static void causal_conv(const ConvArgs& a) {
  switch (a.n_taps) {
    case 2:
      return causal_conv_taps<2>(a);
    case 3:
      return causal_conv_taps<3>(a);
    case 4:
      return causal_conv_taps<4>(a);
    case 5:
      return causal_conv_taps<5>(a);
    case 6:
      return causal_conv_taps<6>(a);
    case 7:
      return causal_conv_taps<7>(a);
    default:
      return causal_conv_taps<8>(a);
  }
}
