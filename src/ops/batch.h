// What one step computes: rows of several sequences side by side.
#pragma once

#include <cstdint>
#include <span>

namespace tempo9::ops {

inline constexpr uint32_t kPageTokens = 32;   // tokens a KV page holds
inline constexpr uint32_t kGridTokens = 256;  // attention's fixed grid; pages divide it

using PageId = uint32_t;

// What recurrent layers know of the tokens so far, all layers, of one sequence: one slot.
using StateSlot = uint32_t;
inline constexpr StateSlot kNoSlot = ~0u;

// The state behind a row of a sequence is left in a slot.
struct StateOut {
  uint32_t row = 0;  // of the sequence's rows
  StateSlot slot = kNoSlot;
};

// n_rows new tokens of one sequence that already has n_past tokens in the cache.
//
// Models with recurrent layers: the state behind n_past tokens is read from state_in, and those
// behind some rows are left in other slots, or in the same one: at borders that others may go on
// from, behind each row that may be rolled back, and behind the last one. Which rows are asked for
// changes no bits, nor how a sequence is cut into steps.
struct BatchSequence {
  uint32_t first_row = 0;
  uint32_t n_rows = 0;
  uint32_t n_past = 0;
  std::span<const PageId>
      pages;                     // page i holds positions [32 i, 32 i + 32); covers n_past + n_rows
  StateSlot state_in = kNoSlot;  // kNoSlot: n_past is 0, and the state all zeros
  // Rows ascending, one row perhaps in several slots; no slot twice. Slots that are written belong
  // to that sequence alone.
  std::span<const StateOut> states_out = {};
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
