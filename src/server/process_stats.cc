#include "server/process_stats.h"

#include <sys/resource.h>

#include <filesystem>
#include <iterator>

#include "base/memory_limit.h"

namespace tempo9::server {

ProcessStats process_stats() {
  ProcessStats stats;
  stats.resident_bytes = resident_memory();
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    stats.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (!error) {
    stats.n_open_files = static_cast<uint64_t>(std::distance(begin(entries), end(entries)));
  }
  return stats;
}

}  // namespace tempo9::server
