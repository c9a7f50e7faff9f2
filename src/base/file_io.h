// Reading and writing at a place of a file, to the end: the system may do less than it was asked
// for, or be interrupted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tempo9 {

// A file that is closed at the end; -1: none.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// False: errno says why, and is 0 where the file ends before.
bool read_at(int fd, uint64_t offset, void* out, size_t n);
// False: errno says why.
bool write_at(int fd, uint64_t offset, const void* bytes, size_t n);

}  // namespace tempo9
