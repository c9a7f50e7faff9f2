#define T9_ISA_NAME "evexvnni"
#define T9_VNNI_ENCODING "%{evex%}"

#include <immintrin.h>

#include "cpu/roof_kernels.h"

namespace tempo9::cpu::evexvnni {
#include "cpu/avx2/roofs.inl.h"
}  // namespace tempo9::cpu::evexvnni
