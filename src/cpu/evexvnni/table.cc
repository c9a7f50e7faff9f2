// The table avxvnni in the encoding of processors with AVX-512, so that they can test it.
#define T9_ISA_NAME "evexvnni"
#define T9_ISA_SET evexvnni
#define T9_VNNI_ENCODING "%{evex%}"

#include "base/check.h"
#include "cpu/avx2/simd.h"
#include "cpu/kernels.h"

namespace tempo9::cpu::evexvnni {

#include "cpu/generic/loops.inl.h"

}  // namespace tempo9::cpu::evexvnni
