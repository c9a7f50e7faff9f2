// How many threads can really run at once here.
#pragma once

#include <cstdint>
#include <string>

#include "base/cgroup.h"

namespace tempo9 {

struct CpuCount {
  uint32_t n_cpus = 1;
  std::string reason;   // "affinity: 8", "cgroup quota: 4 of 16"
  std::string warning;  // what to say at start; empty but for a quota below one processor
};

// The smaller of the processors that the scheduler may use (affinity) and the quota of the control
// groups, rounded down, at least 1. With more threads than quota the kernel stops all of them for a
// part of each period.
CpuCount usable_cpus(const CgroupPaths& paths = {});

}  // namespace tempo9
