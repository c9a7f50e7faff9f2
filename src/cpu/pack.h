// Weights from the file's blocks into the layout that kernels read (cpu/kernels.h,
// docs/formats/packed.md), and one column back out of it (a token's row of a tied embedding).
#pragma once

#include <optional>
#include <span>

#include "base/result.h"
#include "cpu/kernels.h"
#include "tensor/dtype.h"

namespace tempo9::cpu {

// How a type is packed; nothing for types that hold no weights.
std::optional<Packing> packing_of(DType type);
inline bool is_quantized(Packing packing) { return packing < Packing::kF32; }

// Bytes of one group of 16 columns.
size_t packed_group_bytes(Packing packing, uint32_t n_in);

// Packs columns [16 * group, ...) of a matrix: src is the file's bytes, row_bytes one output's row
// of them. out: packed_group_bytes, zeroed. Columns from n_out on stay zero.
void pack_group(Packing packing, const uint8_t* src, size_t row_bytes, uint32_t n_in,
                uint32_t n_out, uint32_t group, uint8_t* out);

// The weights of one column as f32. group: its group's packed bytes; column in [0, 16).
void unpack_column(Packing packing, const uint8_t* group, uint32_t n_in, uint32_t column,
                   float* out);

}  // namespace tempo9::cpu
