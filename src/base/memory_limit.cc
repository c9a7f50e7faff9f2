#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tempo9 {
namespace {

uint64_t number_in(const std::string& path) {
  return std::strtoull(read_small_file(path).c_str(), nullptr, 10);
}

// The number behind "name " at the beginning of a line; none: 0.
uint64_t number_after(const std::string& path, const std::string& name) {
  std::istringstream lines(read_small_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  }
  return 0;
}

}  // namespace

uint64_t memory_limit(const CgroupPaths& paths) {
  uint64_t limit =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const std::string& folder : cgroup_folders("memory", paths)) {
    for (const char* file : {"/memory.max", "/memory.limit_in_bytes"}) {
      const uint64_t value = number_in(folder + file);
      if (value > 0) {  // "max" reads as 0
        limit = std::min(limit, value);
      }
    }
  }
  return limit;
}

uint64_t available_memory(const CgroupPaths& paths) {
  uint64_t available = number_after("/proc/meminfo", "MemAvailable:") << 10;
  if (available == 0) available = memory_limit(paths);
  struct Files {
    const char *limit, *used, *files;
  };
  constexpr Files kVersions[] = {
      {"/memory.max", "/memory.current", "inactive_file "},
      {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file "}};
  for (const std::string& folder : cgroup_folders("memory", paths)) {
    for (const Files& files : kVersions) {
      const uint64_t limit = number_in(folder + files.limit);
      if (limit == 0) continue;
      // Files that were read are counted, and go first when room is needed.
      const uint64_t used = number_in(folder + files.used);
      const uint64_t cached = number_after(folder + "/memory.stat", files.files);
      const uint64_t held = used > cached ? used - cached : 0;
      available = std::min(available, limit > held ? limit - held : 0);
    }
  }
  return available;
}

uint64_t resident_memory() {
  uint64_t n_pages = 0, n_resident = 0;
  std::ifstream("/proc/self/statm") >> n_pages >> n_resident;
  return n_resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tempo9
