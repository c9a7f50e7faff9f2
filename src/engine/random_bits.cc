#include "engine/random_bits.h"

#include <sys/random.h>

#include "base/check.h"

namespace tempo9::engine {

uint64_t random_bits() {
  uint64_t bits = 0;
  // Requests of up to 256 bytes are never cut short once the pool is ready (getrandom(2)).
  T9_CHECK(getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits));
  return bits;
}

}  // namespace tempo9::engine
