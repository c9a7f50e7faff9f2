// The bytes of one GGUF file: on disk, or in memory for tests and fuzzers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tempo9::gguf {

// Copies bytes [offset, offset + n) of a file that is not here to dst.
using ReadBytes = std::function<Status(uint64_t offset, void* dst, size_t n)>;

// Move-only. Until map() the file is only read with pread, so that a file that shrinks meanwhile is
// an error and not a signal; the parser never touches the mapping.
class Source {
 public:
  // Errors: kNotFound or kIo, naming the path; anything but a regular file is refused without
  // waiting for it.
  static Result<Source> open(const std::string& path);
  static Source from_bytes(std::vector<uint8_t> bytes, std::string name);
  // A file of size bytes elsewhere, of which only what the parser reads is fetched: mapped, all of
  // it is zeros, which take no memory.
  static Source from_reader(std::string name, uint64_t size, ReadBytes read);

  Source(Source&& other) noexcept;
  Source& operator=(Source&& other) noexcept;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  // Requires: offset + n <= size(). Errors: kIo, also when the file has become shorter than it was.
  Status read_at(uint64_t offset, void* dst, size_t n) const;

  // Maps the file read-only and private and lets go of the descriptor. data() is valid from then on
  // and does not move with the object. Errors: kIo, also when the file has changed its size since
  // it was opened.
  Status map();
  std::span<const uint8_t> data() const;
  // Gives back the memory of whole mapped pages in bytes; without a mapping, or of bytes that are
  // not in it, nothing.
  void forget(std::span<const uint8_t> bytes) const;

 private:
  Source() = default;
  void release();

  std::string path_;
  uint64_t size_ = 0;
  int fd_ = -1;
  void* mapping_ = nullptr;
  std::vector<uint8_t> bytes_;
  ReadBytes read_;
};

}  // namespace tempo9::gguf
