// Anonymous memory straight from the system: zeroed, page-aligned, touched when used.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace tempo9::cpu {

class Memory {
 public:
  Memory() = default;
  // Reserves n_bytes. Errors: kResourceExhausted.
  static Result<Memory> reserve(size_t n_bytes) {
    if (n_bytes == 0) return Memory();
    void* p = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
      return make_error(
          ErrorCode::kResourceExhausted,
          "cannot reserve {} bytes of memory; free some, or take a smaller model or --max-length",
          n_bytes);
    }
    Memory memory;
    memory.data_ = static_cast<uint8_t*>(p);
    memory.size_ = n_bytes;
    return memory;
  }
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) munmap(data_, size_);
  }

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // Large pages where the system has them: weights are read end to end each step.
  void prefer_huge_pages() const { madvise(data_, size_, MADV_HUGEPAGE); }
  // Ordinary ones from now on: large pages would be filled up again where parts were given back.
  void forbid_huge_pages(size_t offset, size_t n) const {
    madvise(data_ + offset, n, MADV_NOHUGEPAGE);
  }
  // Gives [offset, offset + n) back; reads as zeros afterwards. Whole system pages only.
  void release(size_t offset, size_t n) const { madvise(data_ + offset, n, MADV_DONTNEED); }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tempo9::cpu
