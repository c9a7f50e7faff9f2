// What there is to compute with. Each takes what was found, so that tests can make machines up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_count.h"
#include "cli/doctor/report.h"
#include "engine/memory_budget.h"

namespace tempo9::cli {

// forced: TEMPO9_CPU_ISA, or empty. cpuinfo: the text of /proc/cpuinfo.
Check check_cpu(const std::vector<engine::KernelTableReport>& tables, const std::string& forced,
                const std::string& cpuinfo);

// asked: --threads or TEMPO9_THREADS; 0: neither.
Check check_threads(const CpuCount& usable, uint32_t asked);

struct MachineMemory {
  uint64_t installed = 0;
  uint64_t limit = 0;      // the same, or the control group's limit
  uint64_t available = 0;  // now
};
Check check_memory(const MachineMemory& memory);

struct GpuPaths {
  std::string nvidia = "/proc/driver/nvidia/gpus";
  std::string cards = "/sys/class/drm";
};
Check check_gpu(const GpuPaths& paths = {});

}  // namespace tempo9::cli
