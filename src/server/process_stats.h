// What the operating system counts for this process.
#pragma once

#include <cstdint>

namespace tempo9::server {

struct ProcessStats {
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;  // user and system
  uint64_t n_open_files = 0;
};
// What cannot be read is 0. Source: proc(5), getrusage(2).
ProcessStats process_stats();

}  // namespace tempo9::server
