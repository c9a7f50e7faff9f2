#include "cpu/features.h"

namespace tempo9::cpu {

Features detect_features() {
  // __builtin_cpu_supports checks CPUID and XCR0 both (libgcc's cpuinfo).
  __builtin_cpu_init();
  Features f;
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
  f.avx512_vnni = f.avx2 && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
  return f;
}

}  // namespace tempo9::cpu
