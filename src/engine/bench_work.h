// How much work a program's steps cannot do without: what a measured time is compared with.
#pragma once

#include <cstdint>

#include "ops/backend.h"
#include "ops/program.h"

namespace tempo9::engine {

// Multiply-adds of the weight matrices in a step of n_rows rows that asks for the logits of
// n_logit_rows. Attention is not counted.
uint64_t weight_multiply_adds(const ops::Program& program, uint32_t n_rows, uint32_t n_logit_rows);

// Bytes of K and V that attention of one new row reads which is the n_keys-th of its sequence, all
// layers; a window's layer reads no more than the window.
uint64_t kv_read_bytes(const ops::Program& program, ops::KvType type, uint32_t n_keys);

// Bytes of weights, as in the file, that a step of one row does not read: tables that are only
// looked up in, and experts that the row is not sent to. Requires: the program's file is open.
uint64_t unread_bytes(const ops::Program& program);

}  // namespace tempo9::engine
