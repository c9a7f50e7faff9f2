#include "cpu/rope_table.h"

#include <cmath>

namespace tempo9::cpu {
namespace {

struct SinCos {
  double sin, cos;
};

// For |x| up to about 1e8: reduced by multiples of pi/2 in three parts (Cody and Waite), then
// Taylor on |r| <= pi/4.
SinCos sin_cos(double x) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  constexpr double kHigh = 1.5707963267948966192, kMiddle = 6.1232339957367658e-17,
                   kLow = -1.4973849048591833e-33;
  const double n = std::nearbyint(x * kTwoOverPi);
  double r = std::fma(-n, kHigh, x);
  r = std::fma(-n, kMiddle, r);
  r = std::fma(-n, kLow, r);
  const double r2 = r * r;
  double s = -1.0 / 1307674368000.0, c = 1.0 / 20922789888000.0;  // 1/15!, 1/16!
  constexpr double kSin[] = {1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0,
                             -1.0 / 5040.0,      1.0 / 120.0,       -1.0 / 6.0};
  constexpr double kCos[] = {-1.0 / 87178291200.0,
                             1.0 / 479001600.0,
                             -1.0 / 3628800.0,
                             1.0 / 40320.0,
                             -1.0 / 720.0,
                             1.0 / 24.0,
                             -0.5};
  for (const double term : kSin) s = std::fma(s, r2, term);
  for (const double term : kCos) c = std::fma(c, r2, term);
  const double sine = std::fma(r * r2, s, r), cosine = std::fma(r2, c, 1.0);
  switch (static_cast<long long>(n) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

// ln x for x >= 1: x = m 2^n with m in [0.7, 1.5), ln m = 2 atanh((m - 1) / (m + 1)) by its series.
double natural_log(double x) {
  int n = std::ilogb(x);
  double m = std::scalbn(x, -n);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++n;
  }
  const double t = (m - 1.0) / (m + 1.0), t2 = t * t;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = std::fma(sum, t2, 1.0 / k);
  return std::fma(n, 0.69314718055994530942, 2.0 * t * sum);
}

}  // namespace

float q_factor(const ops::Rope& rope, uint32_t position) {
  if (rope.q_growth == 0 || position < rope.q_growth_every) return 1.0f;
  const uint32_t steps = position / rope.q_growth_every;
  return static_cast<float>(1.0 + static_cast<double>(rope.q_growth) * natural_log(1.0 + steps));
}

void rope_angles(const ops::Rope& rope, uint32_t position, float* cosine, float* sine) {
  for (size_t i = 0; i < rope.inv_freq.size(); ++i) {
    const SinCos at = sin_cos(position * rope.inv_freq[i]);
    cosine[i] = static_cast<float>(at.cos) * rope.magnitude;
    sine[i] = static_cast<float>(at.sin) * rope.magnitude;
  }
}

}  // namespace tempo9::cpu
