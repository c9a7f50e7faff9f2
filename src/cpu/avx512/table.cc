#include "base/check.h"
#include "cpu/avx512/simd.h"
#include "cpu/kernels.h"

#define T9_ISA_NAME "avx512"

namespace tempo9::cpu::avx512 {

#include "cpu/generic/loops.inl.h"

}  // namespace tempo9::cpu::avx512
