// AVX2 and VNNI in the encoding of processors without AVX-512: Intel's since 2021.
#define T9_ISA_NAME "avxvnni"
#define T9_ISA_SET avxvnni
#define T9_VNNI_ENCODING "%{vex%}"

#include "base/check.h"
#include "cpu/avx2/simd.h"
#include "cpu/kernels.h"

namespace tempo9::cpu::avxvnni {

#include "cpu/generic/loops.inl.h"

}  // namespace tempo9::cpu::avxvnni
