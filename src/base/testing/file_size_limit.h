// For tests: while it lives this process's files cannot grow beyond n_bytes, as on a full disk.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include "base/check.h"

namespace tempo9 {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t n_bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    T9_CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit small{n_bytes, before_.rlim_max};
    T9_CHECK(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~FileSizeLimit() { T9_CHECK(::setrlimit(RLIMIT_FSIZE, &before_) == 0); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace tempo9
