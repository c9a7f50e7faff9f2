// Runs a Program for one whole sequence in double, each op by its definition: slow, obviously
// right, what backends are checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/program.h"

namespace tempo9::ops {

// Logits of every position, [tokens.size()][n_vocab].
std::vector<std::vector<double>> interpret(const Program& program, std::span<const int32_t> tokens);
// Hidden states of every position, what the head multiplies: [tokens.size()][state_width()].
std::vector<std::vector<double>> interpret_states(const Program& program,
                                                  std::span<const int32_t> tokens);

}  // namespace tempo9::ops
