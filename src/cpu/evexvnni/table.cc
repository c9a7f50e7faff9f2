// The table avxvnni in the encoding of processors with AVX-512, so that they can test it.
#define T9_ISA_NAME "evexvnni"
#define T9_ISA_SET evexvnni
#define T9_VNNI_ENCODING "%{evex%}"

#include "base/check.h"
#include "cpu/avx2/simd.h"
#include "cpu/kernels.h"

namespace tempo9::cpu::evexvnni {

// clang-format off: each needs the ones before it.
#include "cpu/generic/math.inl.h"
#include "cpu/generic/formats.inl.h"
#include "cpu/generic/grid_formats.inl.h"
#include "cpu/generic/linear_float.inl.h"
#include "cpu/generic/linear_quant.inl.h"
#include "cpu/generic/rows.inl.h"
#include "cpu/generic/route.inl.h"
#include "cpu/generic/attention.inl.h"
#include "cpu/generic/attention_int.inl.h"
#include "cpu/generic/table.inl.h"
// clang-format on

}  // namespace tempo9::cpu::evexvnni
