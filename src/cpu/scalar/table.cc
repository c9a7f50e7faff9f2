#include "base/check.h"
#include "cpu/kernels.h"
#include "cpu/scalar/simd.h"

#define T9_ISA_NAME "scalar"

namespace tempo9::cpu::scalar {

#include "cpu/generic/loops.inl.h"

}  // namespace tempo9::cpu::scalar
