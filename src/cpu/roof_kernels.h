// Loops that do one kind of work and nothing else, one set for each kernel table:
// cpu/<isa>/roofs.cc, built with that instruction set's flags. No intrinsics here, nothing inline
// that a wider build could leak.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tempo9::cpu {

// Each keeps more accumulators than latency x throughput asks for, all in registers, and makes its
// operands opaque each time, so that the compiler can neither drop nor hoist the work. The sums
// come back so that tests can see that all of it was done.
struct RoofKernels {
  const char* name;         // of the kernel table it belongs to
  uint32_t dots_per_round;  // int8 multiply-adds
  uint32_t fmas_per_round;  // f32 multiply-adds
  // Adds w * x up n_rounds * dots_per_round times; modulo 2^32.
  // Requires: |w * x| < 2^14, so that no instruction set saturates.
  uint32_t (*int8_dots)(uint32_t n_rounds, uint8_t w, int8_t x);
  // The same in f32, in as many chains as the loop has lanes.
  float (*f32_fmas)(uint32_t n_rounds, float w, float x);
  // Sum of the 64-bit words, modulo 2^64. Requires: data aligned to 64 bytes, n_bytes a multiple of
  // kReadStep.
  uint64_t (*read)(const uint8_t* data, size_t n_bytes);
};
inline constexpr size_t kReadStep = 1024;

}  // namespace tempo9::cpu
