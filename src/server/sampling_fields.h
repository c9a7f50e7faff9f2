// The sampling fields that dialects share.
#pragma once

#include <string_view>

#include "sampling/params.h"
#include "server/json_body.h"

namespace tempo9::server {

// temperature, top_p, top_k (-1 and 0: all), min_p and the penalties, of which the dialects name
// one differently.
void read_sampling(Fields& fields, std::string_view repetition_penalty, sampling::Params* params);

}  // namespace tempo9::server
