// Text that is compared without regard to case: names of models, hosts.
#pragma once

#include <string>
#include <string_view>

namespace tempo9 {

// A to Z become a to z; all other bytes stay.
std::string lower(std::string_view text);

}  // namespace tempo9
