#include "base/cpu_count.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

namespace tempo9 {
namespace {

uint32_t affinity_cpus() {
  // The mask's size is not known ahead on machines with more than 1024 processors.
  for (int n = 1024; n <= (1 << 16); n *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(n));
    if (set == nullptr) {
      break;
    }
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(n));
    const bool is_known = sched_getaffinity(0, size, set) == 0;
    const int count = is_known ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (is_known) {
      return static_cast<uint32_t>(std::max(count, 1));
    }
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// Processors that a group may use; infinity: no limit, or no such group.
double quota_of(const std::string& folder) {
  double quota = -1.0;
  double period = 0.0;
  if (const std::string v2 = read_small_file(folder + "/cpu.max"); !v2.empty()) {
    std::istringstream(v2) >> quota >> period;  // "max 100000" leaves period 0
  } else {
    quota = std::atof(read_small_file(folder + "/cpu.cfs_quota_us").c_str());
    period = std::atof(read_small_file(folder + "/cpu.cfs_period_us").c_str());
  }
  return quota > 0.0 && period > 0.0 ? quota / period : std::numeric_limits<double>::infinity();
}

}  // namespace

CpuCount usable_cpus(const CgroupPaths& paths) {
  const uint32_t n_affinity = affinity_cpus();
  double quota = std::numeric_limits<double>::infinity();
  for (const std::string& folder : cgroup_folders("cpu", paths)) {
    quota = std::min(quota, quota_of(folder));
  }
  if (quota >= n_affinity) {
    return {n_affinity, fmt::format("affinity: {}", n_affinity), ""};
  }
  const auto n_quota = static_cast<uint32_t>(std::max(1.0, quota));
  CpuCount count{n_quota, fmt::format("cgroup quota: {} of {}", quota, n_affinity), ""};
  if (quota < 1) {
    count.warning = fmt::format(
        "the control group allows {} of a processor, so the one compute thread is stopped for a "
        "part of each period; raise the quota to 1 or more",
        quota);
  }
  return count;
}

}  // namespace tempo9
