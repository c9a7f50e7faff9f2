// The control groups that this process is in, v1 and v2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tempo9 {

// Where to look; tests point it elsewhere.
struct CgroupPaths {
  std::string mount = "/sys/fs/cgroup";
  std::string self = "/proc/self/cgroup";
};

// The folders whose limits of that controller ("cpu", "memory") bind this process: its group and
// the groups above, as far as they can be seen (a container often sees only its own, as the root).
// v2 first; some may not exist.
std::vector<std::string> cgroup_folders(std::string_view controller, const CgroupPaths& paths);

// The whole file, without the newline at its end; empty when it cannot be read.
std::string read_small_file(const std::string& path);

}  // namespace tempo9
