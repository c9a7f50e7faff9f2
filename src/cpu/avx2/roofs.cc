#define T9_ISA_NAME "avx2"

#include <immintrin.h>

#include "cpu/roof_kernels.h"

namespace tempo9::cpu::avx2 {
#include "cpu/avx2/roofs.inl.h"
}  // namespace tempo9::cpu::avx2
