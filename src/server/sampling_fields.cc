#include "server/sampling_fields.h"

#include <cstdint>
#include <limits>

namespace tempo9::server {

void read_sampling(Fields& fields, std::string_view repetition_penalty, sampling::Params* params) {
  fields.read("temperature", &params->temperature);
  fields.read("top_p", &params->top_p);
  fields.read("min_p", &params->min_p);
  fields.read(repetition_penalty, &params->repetition_penalty);
  fields.read("frequency_penalty", &params->frequency_penalty);
  fields.read("presence_penalty", &params->presence_penalty);
  int64_t top_k = params->top_k;
  fields.read("top_k", -1, std::numeric_limits<int32_t>::max(), &top_k);
  params->top_k = static_cast<int32_t>(top_k);
}

}  // namespace tempo9::server
