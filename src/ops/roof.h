// Limits of a processor, as a backend measures them: what a step's work is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tempo9::ops {

enum class Roof {
  kInt8Dots,  // int8 multiply-adds/s with the best instruction of the kernel table
  kF32Fmas,   // f32 multiply-adds/s
  kRead,      // bytes/s read from memory, from a buffer that no cache holds
};

struct RoofOptions {
  std::string isa;  // kernel table by name; empty: the best that this processor has
  uint32_t n_threads = 1;
  uint32_t n_repeats = 5;
  double seconds = 0.1;   // a repeat takes at least this long
  size_t read_bytes = 0;  // of the buffer; 0: several times the last cache
};

struct RoofRates {
  std::string isa;            // the kernel table that was measured
  std::vector<double> rates;  // a second, one for each repeat
};

}  // namespace tempo9::ops
