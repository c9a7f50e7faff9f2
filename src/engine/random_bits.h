// Bits that nobody can guess, from the operating system: seeds that nobody gave, the cache's
// secret.
#pragma once

#include <cstdint>

namespace tempo9::engine {

uint64_t random_bits();

}  // namespace tempo9::engine
