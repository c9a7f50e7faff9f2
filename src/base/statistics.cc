#include "base/statistics.h"

#include <algorithm>

#include "base/check.h"

namespace tempo9 {

Summary summarize(std::vector<double> values) {
  T9_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values.front(), values.back()};
}

}  // namespace tempo9
