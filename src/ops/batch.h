// What one step computes: rows of several sequences side by side.
#pragma once

#include <cstdint>
#include <span>

namespace tempo9::ops {

inline constexpr uint32_t kPageTokens = 32;   // tokens a KV page holds
inline constexpr uint32_t kGridTokens = 256;  // attention's fixed grid; pages divide it

using PageId = uint32_t;

// n_rows new tokens of one sequence that already has n_past tokens in the cache.
struct BatchSequence {
  uint32_t first_row = 0;
  uint32_t n_rows = 0;
  uint32_t n_past = 0;
  std::span<const PageId>
      pages;  // page i holds positions [32 i, 32 i + 32); covers n_past + n_rows
};

// Requires: sequences' rows follow each other without gaps, from row 0; pages that are written
// (from n_past on) belong to that sequence alone; logit_rows and state_rows ascending, no row in
// both.
struct Batch {
  std::span<const int32_t> tokens;  // one a row
  std::span<const BatchSequence> sequences;
  std::span<const uint32_t> logit_rows;       // rows whose logits are wanted
  std::span<const uint32_t> state_rows = {};  // rows whose hidden state is wanted (embeddings)
};

}  // namespace tempo9::ops
