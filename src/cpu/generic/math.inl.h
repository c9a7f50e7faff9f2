// Functions on vectors, the same bits on every table: only fused multiply-adds, never libm.
// What is no number stays none, so that it shows in its row's logits: min and max give the second
// of two values when either is none. Included inside a table's namespace, after its simd.h.

// For "are all of these finite?": zero times anything else is no number.
T9_SIMD F32 see_infinite(F32 x, F32 seen) { return fma(x, zero(), seen); }
T9_SIMD bool is_finite(F32 seen) { return reduce_add(seen) == 0; }

// e^x, about 1 ulp; 0 below -87.3 (also for -inf), saturates at 88.
// Source: x = n ln2 + r, Taylor to r^7 on |r| <= ln2 / 2 (next term 5e-9), scaled by 2^n through
// the exponent bits.
T9_SIMD F32 exp(F32 x) {
  const F32 clamped = min(set1(88.0f), max(set1(-87.3f), x));
  const I32 n = round_to_i32(mul(clamped, set1(1.44269504088896341f)));
  const F32 nf = to_f32(n);
  F32 r = fma(nf, set1(-0.693145751953125f), clamped);
  r = fma(nf, set1(-1.42860682030941723e-6f), r);
  F32 p = set1(1.0f / 5040);
  p = fma(p, r, set1(1.0f / 720));
  p = fma(p, r, set1(1.0f / 120));
  p = fma(p, r, set1(1.0f / 24));
  p = fma(p, r, set1(1.0f / 6));
  p = fma(p, r, set1(0.5f));
  p = fma(mul(r, r), p, add(r, set1(1.0f)));
  const F32 result = as_f32(iadd(as_i32(p), shift_left(n, 23)));
  return zero_below(result, x, -87.3f);
}

// 2^x for x <= 0, about 3e-6 of it; 0 below -126 (also for -inf).
// Source: x = n + r, Taylor of e^(r ln2) to the fifth power on |r| <= 1 / 2, scaled by 2^n through
// the exponent bits.
T9_SIMD F32 exp2(F32 x) {
  const F32 clamped = max(set1(-126.0f), x);
  const I32 n = round_to_i32(clamped);
  const F32 r = sub(clamped, to_f32(n));
  F32 p = set1(1.33335581e-3f);
  p = fma(p, r, set1(9.61812911e-3f));
  p = fma(p, r, set1(5.55041087e-2f));
  p = fma(p, r, set1(2.40226507e-1f));
  p = fma(p, r, set1(6.93147181e-1f));
  p = fma(p, r, set1(1.0f));
  return zero_below(as_f32(iadd(as_i32(p), shift_left(n, 23))), x, -126.0f);
}

// x / (1 + e^-x)
T9_SIMD F32 silu(F32 x) { return div(x, add(set1(1.0f), exp(sub(zero(), x)))); }

T9_SIMD F32 sigmoid(F32 x) { return div(set1(1.0f), add(set1(1.0f), exp(sub(zero(), x)))); }

// log(1 + e^x) = max(x, 0) + log(1 + u), u = e^-|x|; about 2 ulp, small results too.
// Source: log(1 + u) = 2 atanh(z), z = u / (2 + u) <= 1/3, its series to z^15 (next term 5e-9).
T9_SIMD F32 softplus(F32 x) {
  const F32 u = exp(sub(zero(), abs(x)));
  const F32 z = div(u, add(set1(2.0f), u)), z2 = mul(z, z);
  F32 p = set1(1.0f / 15);
  p = fma(p, z2, set1(1.0f / 13));
  p = fma(p, z2, set1(1.0f / 11));
  p = fma(p, z2, set1(1.0f / 9));
  p = fma(p, z2, set1(1.0f / 7));
  p = fma(p, z2, set1(1.0f / 5));
  p = fma(p, z2, set1(1.0f / 3));
  p = fma(p, z2, set1(1.0f));
  // max gives its second value when the first is no number: x stays none.
  return fma(add(z, z), p, max(zero(), x));
}

// tanh(x) = 1 - 2 / (e^2x + 1)
T9_SIMD F32 tanh(F32 x) {
  const F32 two_x = add(x, x);
  // Near zero the form above cancels; an odd polynomial serves |x| < 0.25.
  const F32 x2 = mul(x, x);
  F32 p = set1(2.1869489e-2f);
  p = fma(p, x2, set1(-5.3968254e-2f));
  p = fma(p, x2, set1(1.3333333e-1f));
  p = fma(p, x2, set1(-3.3333333e-1f));
  const F32 small = fma(mul(x, x2), p, x);
  const F32 large = sub(set1(1.0f), div(set1(2.0f), add(exp(two_x), set1(1.0f))));
  return select_small(small, large, x, 0.25f);
}

// x (1 + erf(x / sqrt 2)) / 2 = max(x, 0) - |x| q / 2 with q = erfc(|x| / sqrt 2), so that nothing
// cancels on either side. Source: Abramowitz and Stegun 7.1.26 (error of q at most 1.5e-7).
T9_SIMD F32 gelu_erf(F32 x) {
  const F32 a = abs(x), z = mul(a, set1(0.70710678118654752f));
  const F32 t = div(set1(1.0f), fma(z, set1(0.3275911f), set1(1.0f)));
  F32 p = set1(1.061405429f);
  p = fma(p, t, set1(-1.453152027f));
  p = fma(p, t, set1(1.421413741f));
  p = fma(p, t, set1(-0.284496736f));
  p = fma(p, t, set1(0.254829592f));
  const F32 q = mul(mul(p, t), exp(sub(zero(), mul(z, z))));
  return sub(max(zero(), x), mul(mul(a, set1(0.5f)), q));
}

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the tanh form that Gemma uses.
T9_SIMD F32 gelu(F32 x) {
  const F32 inner = mul(set1(0.7978845608f), fma(mul(mul(x, x), x), set1(0.044715f), x));
  return mul(mul(set1(0.5f), x), add(set1(1.0f), tanh(inner)));
}
