// Names of models are compared without regard to case.
#pragma once

#include <string>
#include <string_view>

namespace tempo9::store {

// A to Z become a to z; all other bytes stay.
std::string lower(std::string_view text);

}  // namespace tempo9::store
