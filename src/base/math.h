// exp and log in double whose bits depend on nothing but their argument: plain IEEE additions,
// multiplications and divisions in one order (the build forbids contraction). libm's own vary with
// its version and the processor. Error: under 1 ulp over the whole range; exp below -708 is 0 (no
// subnormals). Source: argument reduction and atanh series as in any text on elementary functions
// (Muller 2016).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace tempo9 {

inline constexpr double kLn2Hi =
    6.93147180369123816490e-01;  // its low 32 bits are zero: k * kLn2Hi is exact
inline constexpr double kLn2Lo = 1.90821492927058770002e-10;

// Without branches, so that loops over it are vectorised.
inline double portable_exp(double x) {
  const double low = x < -708.0 ? -708.0 : x;
  const double clamped = low > 709.0 ? 709.0 : low;
  constexpr double kLog2E = 1.44269504088896338700;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double shifted = clamped * kLog2E + kRound;
  const double k = shifted - kRound;
  const double r = (clamped - k * kLn2Hi) - k * kLn2Lo;  // |r| <= ln2 / 2
  double p = 1.0 / 6227020800.0;                         // 1 / 13!
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double mantissa = 1.0 + (r + r * r * p);
  // Times 2^k: k stands in the low bits of shifted, and the product is a normal number.
  const double value = std::bit_cast<double>(std::bit_cast<uint64_t>(mantissa) +
                                             (std::bit_cast<uint64_t>(shifted) << 52));
  const double above = x > 709.0 ? std::numeric_limits<double>::infinity() : value;
  const double result = x < -708.0 ? 0.0 : above;
  return x != x ? x : result;
}

// log(0) is -infinity, below zero NaN.
inline double portable_log(double x) {
  if (!(x > 0.0)) {
    return x == 0.0 ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
  }
  if (x > std::numeric_limits<double>::max()) {
    return x;
  }
  int64_t exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  // log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.172; written as f - s (f - series) to
  // keep f exact.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double series = 2.0 / 23.0;
  series = series * z + 2.0 / 21.0;
  series = series * z + 2.0 / 19.0;
  series = series * z + 2.0 / 17.0;
  series = series * z + 2.0 / 15.0;
  series = series * z + 2.0 / 13.0;
  series = series * z + 2.0 / 11.0;
  series = series * z + 2.0 / 9.0;
  series = series * z + 2.0 / 7.0;
  series = series * z + 2.0 / 5.0;
  series = series * z + 2.0 / 3.0;
  const auto k = static_cast<double>(exponent);
  return k * kLn2Hi + (f - (s * (f - series * z) - k * kLn2Lo));
}

}  // namespace tempo9
