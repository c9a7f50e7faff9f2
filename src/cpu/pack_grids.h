// The IQ1, IQ2 and IQ3 formats in packed form: codebook numbers, signs and scales of 256 inputs.
// Read by cpu/generic/grid_formats.inl.h; layouts: docs/formats/packed.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tempo9::cpu {

// Bytes of a packed unit of 256 inputs x 16 columns; 0 for other types.
size_t grid_unit_bytes(DType type);

// One file block into a column of a unit: grid_unit_bytes, zeroed before its first column.
void pack_grid_block(DType type, const uint8_t* block, uint32_t column, uint8_t* unit);

// The 256 weights of a column of a unit.
void unpack_grid_block(DType type, const uint8_t* unit, uint32_t column, float* out);

}  // namespace tempo9::cpu
