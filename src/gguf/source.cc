#include "gguf/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file_io.h"

namespace tempo9::gguf {
namespace {

Error changed(const std::string& path, uint64_t before) {
  return make_error(
      ErrorCode::kIo,
      "{}: the file changed while it was being opened (it had {} bytes at first); wait until it is "
      "complete and try again",
      path, before);
}

}  // namespace

Result<Source> Source::open(const std::string& path) {
  Source source;
  source.path_ = path;
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  source.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (source.fd_ < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return make_error(code, "{}: cannot open: {}", path, std::strerror(errno));
  }
  struct stat status = {};
  if (::fstat(source.fd_, &status) != 0) {
    return make_error(ErrorCode::kIo, "{}: cannot read its size: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return make_error(ErrorCode::kIo, "{}: is {}, expected a GGUF file", path,
                      S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  source.size_ = static_cast<uint64_t>(status.st_size);
  return source;
}

Source Source::from_bytes(std::vector<uint8_t> bytes, std::string name) {
  Source source;
  source.path_ = std::move(name);
  source.size_ = bytes.size();
  source.bytes_ = std::move(bytes);
  return source;
}

Source Source::from_reader(std::string name, uint64_t size, ReadBytes read) {
  Source source;
  source.path_ = std::move(name);
  source.size_ = size;
  source.read_ = std::move(read);
  return source;
}

Source::Source(Source&& other) noexcept { *this = std::move(other); }

Source& Source::operator=(Source&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::move(other.path_);
    size_ = std::exchange(other.size_, 0);
    fd_ = std::exchange(other.fd_, -1);
    mapping_ = std::exchange(other.mapping_, nullptr);
    bytes_ = std::move(other.bytes_);
    read_ = std::exchange(other.read_, nullptr);
  }
  return *this;
}

Source::~Source() { release(); }

void Source::release() {
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
  if (fd_ >= 0) ::close(fd_);
  mapping_ = nullptr;
  fd_ = -1;
}

Status Source::read_at(uint64_t offset, void* dst, size_t n) const {
  if (read_) return read_(offset, dst, n);
  if (fd_ < 0) {
    if (n != 0) std::memcpy(dst, data().data() + offset, n);
    return {};
  }
  if (tempo9::read_at(fd_, offset, dst, n)) return {};
  if (errno == 0) return changed(path_, size_);
  return make_error(ErrorCode::kIo, "{}: cannot read: {}", path_, std::strerror(errno));
}

Status Source::map() {
  if (fd_ < 0 && !read_) return {};  // in memory, or mapped
  const int flags = MAP_PRIVATE | (read_ ? MAP_ANONYMOUS | MAP_NORESERVE : 0);
  void* mapping = ::mmap(nullptr, size_, PROT_READ, flags, fd_, 0);
  if (mapping == MAP_FAILED) {
    return make_error(ErrorCode::kIo, "{}: cannot map {} bytes: {}", path_, size_,
                      std::strerror(errno));
  }
  mapping_ = mapping;
  if (std::exchange(read_, nullptr)) return {};
  struct stat status = {};
  const bool known = ::fstat(fd_, &status) == 0;
  ::close(std::exchange(fd_, -1));
  if (!known || static_cast<uint64_t>(status.st_size) != size_) return changed(path_, size_);
  return {};
}

std::span<const uint8_t> Source::data() const {
  if (mapping_ != nullptr) return {static_cast<const uint8_t*>(mapping_), size_};
  return bytes_;
}

void Source::forget(std::span<const uint8_t> bytes) const {
  if (mapping_ == nullptr) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(mapping_);
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  if (first < start || first + bytes.size() > start + size_) return;
  const uintptr_t begin = (first + page - 1) / page * page;
  const uintptr_t end = (first + bytes.size()) / page * page;
  // A file's own pages, never written: the kernel brings them back as they were.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tempo9::gguf
