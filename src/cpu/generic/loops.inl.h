// All loops, and the table that they make. Included inside a table's namespace, after its simd.h.

// clang-format off: each needs the ones before it.
#include "cpu/generic/math.inl.h"
#include "cpu/generic/formats.inl.h"
#include "cpu/generic/grid_formats.inl.h"
#include "cpu/generic/linear_float.inl.h"
#include "cpu/generic/linear_quant.inl.h"
#include "cpu/generic/rows.inl.h"
#include "cpu/generic/route.inl.h"
#include "cpu/generic/conv.inl.h"
#include "cpu/generic/state.inl.h"
#include "cpu/generic/attention.inl.h"
#include "cpu/generic/attention_int.inl.h"
#include "cpu/generic/table.inl.h"
// clang-format on
