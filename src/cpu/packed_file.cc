#include "cpu/packed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tempo9::cpu {
namespace {

constexpr char kMagic[8] = {'T', '9', 'P', 'A', 'C', 'K', 'E', 'D'};
constexpr size_t kPartAlign = 4096;              // of each part in the file
constexpr size_t kPieceBytes = size_t{4} << 20;  // bytes that share a checksum

class File {
 public:
  File(const std::string& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)), code_(fd_ < 0 ? errno : 0) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int open_error() const { return code_; }
  // False: errno says why; 0 when the file ends before.
  bool read(uint64_t offset, void* to, size_t n) const {
    for (auto* at = static_cast<char*>(to); n > 0;) {
      const ssize_t got = ::pread(fd_, at, n, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) errno = 0;
      if (got <= 0) return false;
      at += got, n -= static_cast<size_t>(got), offset += static_cast<uint64_t>(got);
    }
    return true;
  }
  bool write(uint64_t offset, const void* from, size_t n) const {
    for (const auto* at = static_cast<const char*>(from); n > 0;) {
      const ssize_t put = ::pwrite(fd_, at, n, static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return false;
      at += put, n -= static_cast<size_t>(put), offset += static_cast<uint64_t>(put);
    }
    return true;
  }
  bool is_regular() const {
    struct stat info{};
    return ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
  }

 private:
  int fd_;
  int code_;
};

// A piece of a part, where it stands in the file.
struct FilePiece {
  std::span<uint8_t> bytes;
  uint64_t offset;
};
std::vector<FilePiece> pieces_of(const PackedParts& parts, uint64_t offset) {
  std::vector<FilePiece> pieces;
  for (const std::span<uint8_t> part : parts) {
    offset = (offset + kPartAlign - 1) / kPartAlign * kPartAlign;
    for (size_t at = 0; at < part.size(); at += kPieceBytes)
      pieces.push_back({part.subspan(at, std::min(kPieceBytes, part.size() - at)), offset + at});
    offset += part.size();
  }
  return pieces;
}

uint64_t checksum(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void append(std::string* out, uint64_t value) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(value >> 8 * i));
}

// What stands before the pieces' checksums: magic, version, key, sizes of the parts.
std::string head_of(const std::string& key, const PackedParts& parts) {
  std::string head(kMagic, sizeof kMagic);
  append(&head, kPackedFileVersion);
  append(&head, key.size());
  head += key;
  append(&head, parts.size());
  for (const std::span<uint8_t> part : parts) append(&head, part.size());
  return head;
}

// The checksums of all pieces and one over head and them.
std::string seal_of(const std::string& head, const std::vector<uint64_t>& checksums) {
  std::string seal;
  for (const uint64_t sum : checksums) append(&seal, sum);
  const std::string all = head + seal;
  append(&seal, XXH3_64bits(all.data(), all.size()));
  return seal;
}

uint64_t read_number(const char* at) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(at[i])} << 8 * i;
  return value;
}

Error cannot(const char* what, const std::string& path, int code) {
  return make_error(ErrorCode::kIo, "{}: cannot {} it: {}", path, what,
                    code == 0 ? "it ends too soon" : std::strerror(code));
}

}  // namespace

Result<PackedFileState> read_packed_file(const std::string& path, const std::string& key,
                                         const PackedParts& parts, ThreadPool& pool) {
  const File file(path, O_RDONLY);
  if (file.open_error() == ENOENT) return PackedFileState::kMissing;
  if (file.open_error() != 0) return cannot("open", path, file.open_error());
  char magic[sizeof kMagic];
  if (!file.is_regular() || !file.read(0, magic, sizeof magic) ||
      std::memcmp(magic, kMagic, sizeof magic) != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: found something else than packed weights of tempo9, and does not "
                      "replace it; give the path of a file that is not there yet",
                      path);
  }
  const std::string head = head_of(key, parts);
  std::string found(head.size(), '\0');
  if (!file.read(0, found.data(), found.size()) || found != head) return PackedFileState::kOther;

  const size_t n_pieces = pieces_of(parts, 0).size();
  std::string seal((n_pieces + 1) * 8, '\0');
  std::vector<uint64_t> sums(n_pieces);
  if (file.read(head.size(), seal.data(), seal.size()))
    for (size_t i = 0; i < n_pieces; ++i) sums[i] = read_number(seal.data() + 8 * i);
  if (seal != seal_of(head, sums)) return PackedFileState::kDamaged;

  const std::vector<FilePiece> pieces = pieces_of(parts, head.size() + seal.size());
  std::atomic<bool> is_damaged{false};
  pool.run(static_cast<uint32_t>(n_pieces), 1, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end && !is_damaged; ++i) {
      const FilePiece& piece = pieces[i];
      if (!file.read(piece.offset, piece.bytes.data(), piece.bytes.size()) ||
          checksum(piece.bytes) != sums[i])
        is_damaged = true;
    }
  });
  return is_damaged ? PackedFileState::kDamaged : PackedFileState::kRead;
}

Status write_packed_file(const std::string& path, const std::string& key, const PackedParts& parts,
                         ThreadPool& pool) {
  const std::string head = head_of(key, parts);
  const size_t n_pieces = pieces_of(parts, 0).size();
  const std::vector<FilePiece> pieces = pieces_of(parts, head.size() + (n_pieces + 1) * 8);
  std::vector<uint64_t> sums(n_pieces);
  pool.run(static_cast<uint32_t>(n_pieces), 1, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end; ++i) sums[i] = checksum(pieces[i].bytes);
  });
  const std::string beside = fmt::format("{}.{}.part", path, ::getpid());
  const auto write_all = [&]() -> Status {
    const File file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.open_error() != 0) return cannot("create", beside, file.open_error());
    const std::string all = head + seal_of(head, sums);
    if (!file.write(0, all.data(), all.size())) return cannot("write", beside, errno);
    for (const FilePiece& piece : pieces) {
      if (!file.write(piece.offset, piece.bytes.data(), piece.bytes.size()))
        return cannot("write", beside, errno);
    }
    return {};
  };
  Status written = write_all();
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) written = cannot("name", path, errno);
  if (!written) ::unlink(beside.c_str());
  return written;
}

}  // namespace tempo9::cpu
