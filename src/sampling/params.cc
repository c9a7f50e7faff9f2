#include "sampling/params.h"

#include <cmath>
#include <string_view>

namespace tempo9::sampling {
namespace {

Error out_of_range(std::string_view field, float found, std::string_view range) {
  return make_error(ErrorCode::kInvalidArgument, "{}: found {}, expected a number in {}", field,
                    found, range);
}

}  // namespace

// Written so that NaN fails each comparison.
Status validate(const Params& params) {
  const Params& p = params;
  if (!(p.temperature >= 0.0f && p.temperature <= 100.0f)) {
    return out_of_range("temperature", p.temperature, "[0, 100]");
  }
  if (p.top_k < -1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "top_k: found {}, expected -1 or 0 (all) or a positive number", p.top_k);
  }
  if (!(p.top_p >= 0.0f && p.top_p <= 1.0f)) {
    return out_of_range("top_p", p.top_p, "[0, 1]");
  }
  if (!(p.min_p >= 0.0f && p.min_p <= 1.0f)) {
    return out_of_range("min_p", p.min_p, "[0, 1]");
  }
  if (!(p.repetition_penalty > 0.0f && std::isfinite(p.repetition_penalty))) {
    return out_of_range("repetition_penalty", p.repetition_penalty, "(0, infinity)");
  }
  if (!(std::abs(p.frequency_penalty) <= 2.0f)) {
    return out_of_range("frequency_penalty", p.frequency_penalty, "[-2, 2]");
  }
  if (!(std::abs(p.presence_penalty) <= 2.0f)) {
    return out_of_range("presence_penalty", p.presence_penalty, "[-2, 2]");
  }
  for (const auto& [id, bias] : p.logit_bias) {
    if (!(std::abs(bias) <= 100.0f)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "logit_bias of token {}: found {}, expected a number in [-100, 100]", id,
                        bias);
    }
  }
  return {};
}

}  // namespace tempo9::sampling
