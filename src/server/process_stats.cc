#include "server/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tempo9::server {

ProcessStats process_stats() {
  ProcessStats stats;
  uint64_t n_pages = 0, n_resident = 0;
  if (std::ifstream statm("/proc/self/statm"); statm >> n_pages >> n_resident) {
    stats.resident_bytes = n_resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
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
