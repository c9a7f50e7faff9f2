// Small programs with random weights, and their logits, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "cpu/test_weights.h"
#include "ops/backend.h"
#include "ops/program.h"

namespace tempo9::cpu {

// Products with it have about gain times the size of what they read. bytes: of all the program's
// matrices; their number seeds this one.
inline ops::MatrixId add_random_matrix(ops::Program& program,
                                       std::vector<std::vector<uint8_t>>& bytes, DType type,
                                       uint32_t n_in, uint32_t n_out, float gain = 1.0f,
                                       uint32_t n_experts = 1) {
  const auto size = gain / std::sqrt(static_cast<float>(n_in));
  const auto seed = static_cast<uint32_t>(bytes.size());
  bytes.push_back(random_weights(type, n_in, n_out * n_experts, size, seed));
  ops::Matrix matrix{"m", type, n_in, n_out, bytes.back()};
  matrix.n_experts = n_experts;
  return program.add_matrix(std::move(matrix));
}

// Logits of all positions of one sequence, whose rows come in slices.
inline std::vector<float> run_in_slices(ops::Backend& backend, std::span<const int32_t> tokens,
                                        std::span<const ops::PageId> pages, uint32_t slice) {
  std::vector<float> all;
  for (uint32_t done = 0; done < tokens.size(); done += slice) {
    const uint32_t n = std::min<uint32_t>(slice, static_cast<uint32_t>(tokens.size()) - done);
    std::vector<uint32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0u);
    const ops::BatchSequence sequence{0, n, done, pages};
    const auto logits = backend.step({tokens.subspan(done, n), {&sequence, 1}, rows});
    all.insert(all.end(), logits->begin(), logits->end());
  }
  return all;
}

}  // namespace tempo9::cpu
