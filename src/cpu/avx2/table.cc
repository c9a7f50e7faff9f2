#include "base/check.h"
#include "cpu/avx2/simd.h"
#include "cpu/kernels.h"

#define T9_ISA_NAME "avx2"

namespace tempo9::cpu::avx2 {

#include "cpu/generic/loops.inl.h"

}  // namespace tempo9::cpu::avx2
