// Cosines and sines for rotary embedding, in double and without libm: the same bits on every
// machine.
#pragma once

#include "ops/program.h"

namespace tempo9::cpu {

// cosine, sine [rope.inv_freq.size()] of position * inv_freq, times rope.magnitude.
void rope_angles(const ops::Rope& rope, uint32_t position, float* cosine, float* sine);

// What queries at this position are multiplied by after the rotation (Rope::q_growth).
float q_factor(const ops::Rope& rope, uint32_t position);

}  // namespace tempo9::cpu
