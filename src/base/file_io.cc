#include "base/file_io.h"

#include <unistd.h>

#include <cerrno>

namespace tempo9 {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

bool read_at(int fd, uint64_t offset, void* out, size_t n) {
  for (auto* at = static_cast<char*>(out); n > 0;) {
    const ssize_t got = ::pread(fd, at, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
  return true;
}

bool write_at(int fd, uint64_t offset, const void* bytes, size_t n) {
  for (const auto* at = static_cast<const char*>(bytes); n > 0;) {
    const ssize_t put = ::pwrite(fd, at, n, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    offset += static_cast<uint64_t>(put);
    n -= static_cast<size_t>(put);
  }
  return true;
}

}  // namespace tempo9
