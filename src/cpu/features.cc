#include "cpu/features.h"

#include <cpuid.h>

#include <algorithm>

namespace tempo9::cpu {

namespace {

// g++ 12 cannot ask for it by name. CPUID leaf 7, subleaf 1, EAX bit 4; that the system keeps the
// registers is what avx2 says.
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 1u << 4) != 0;
}

}  // namespace

std::vector<Feature> detect_features() {
  // __builtin_cpu_supports checks CPUID and XCR0 both (libgcc's cpuinfo).
  __builtin_cpu_init();
  return {
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"fma", __builtin_cpu_supports("fma") != 0},
      {"f16c", __builtin_cpu_supports("f16c") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {"avxvnni", has_avx_vnni()},
  };
}

std::vector<std::string_view> missing_features(std::string_view needs,
                                               const std::vector<Feature>& features) {
  std::vector<std::string_view> missing;
  while (!needs.empty()) {
    const std::string_view name = needs.substr(0, needs.find(' '));
    const auto feature = std::ranges::find(features, name, &Feature::name);
    if (feature == features.end() || !feature->has) missing.push_back(name);
    needs.remove_prefix(std::min(needs.size(), name.size() + 1));
  }
  return missing;
}

}  // namespace tempo9::cpu
