#define T9_ISA_NAME "avxvnni"
#define T9_VNNI_ENCODING "%{vex%}"

#include <immintrin.h>

#include "cpu/roof_kernels.h"

namespace tempo9::cpu::avxvnni {
#include "cpu/avx2/roofs.inl.h"
}  // namespace tempo9::cpu::avxvnni
