#include "engine/pool.h"

#include <cmath>

#include "base/check.h"

namespace tempo9::engine {

void Pool::add(uint32_t first_position, uint32_t n_rows, std::span<const float> states) {
  if (n_rows == 0) return;
  const size_t width = states.size() / n_rows;
  const auto state = [&](uint32_t row) { return states.subspan(row * width, width); };
  if (!pools_all_rows(pooling_)) {
    const auto last = state(n_rows - 1);
    sum_.assign(last.begin(), last.end());
    n_added_ = 1;
    return;
  }
  T9_CHECK(first_position <= n_added_);
  for (uint32_t row = n_added_ - first_position; row < n_rows; ++row) {
    ++n_added_;
    if (n_added_ > 1 && pooling_ == Pooling::kCls) continue;
    sum_.resize(width);
    for (size_t i = 0; i < width; ++i) sum_[i] += static_cast<double>(state(row)[i]);
  }
}

Result<std::vector<float>> Pool::result() const {
  T9_CHECK(n_added_ > 0);
  const double n = pooling_ == Pooling::kMean ? n_added_ : 1;
  std::vector<float> out(sum_.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(sum_[i] / n);
    if (!std::isfinite(out[i])) {
      return make_error(ErrorCode::kInternal,
                        "the model's hidden state holds something that is no number");
    }
  }
  return out;
}

}  // namespace tempo9::engine
