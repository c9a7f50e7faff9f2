#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tempo9 {

uint64_t memory_limit(const CgroupPaths& paths) {
  uint64_t limit =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& folder : cgroup_folders("memory", paths)) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      const uint64_t value = std::strtoull(read_small_file(folder + file).c_str(), nullptr, 10);
      if (value > 0) {  // "max" reads as 0
        limit = std::min(limit, value);
      }
    }
  }
  return limit;
}

}  // namespace tempo9
