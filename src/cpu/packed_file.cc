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

#include "base/file_io.h"

namespace tempo9::cpu {
namespace {

constexpr char kMagic[8] = {'T', '9', 'P', 'A', 'C', 'K', 'E', 'D'};
constexpr size_t kPartAlign = 4096;              // of each part in the file
constexpr size_t kPieceBytes = size_t{4} << 20;  // bytes that share a checksum

bool is_regular(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

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
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return PackedFileState::kMissing;
  if (file.get() < 0) return cannot("open", path, errno);
  char magic[sizeof kMagic];
  if (!is_regular(file.get()) || !read_at(file.get(), 0, magic, sizeof magic) ||
      std::memcmp(magic, kMagic, sizeof magic) != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: found something else than packed weights of tempo9, and does not "
                      "replace it; give the path of a file that is not there yet",
                      path);
  }
  const std::string head = head_of(key, parts);
  std::string found(head.size(), '\0');
  if (!read_at(file.get(), 0, found.data(), found.size()) || found != head)
    return PackedFileState::kOther;

  const size_t n_pieces = pieces_of(parts, 0).size();
  std::string seal((n_pieces + 1) * 8, '\0');
  std::vector<uint64_t> sums(n_pieces);
  if (read_at(file.get(), head.size(), seal.data(), seal.size()))
    for (size_t i = 0; i < n_pieces; ++i) sums[i] = read_number(seal.data() + 8 * i);
  if (seal != seal_of(head, sums)) return PackedFileState::kDamaged;

  const std::vector<FilePiece> pieces = pieces_of(parts, head.size() + seal.size());
  std::atomic<bool> is_damaged{false};
  pool.run(static_cast<uint32_t>(n_pieces), 1, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end && !is_damaged; ++i) {
      const FilePiece& piece = pieces[i];
      if (!read_at(file.get(), piece.offset, piece.bytes.data(), piece.bytes.size()) ||
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
    const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return cannot("create", beside, errno);
    const std::string all = head + seal_of(head, sums);
    if (!write_at(file.get(), 0, all.data(), all.size())) return cannot("write", beside, errno);
    for (const FilePiece& piece : pieces) {
      if (!write_at(file.get(), piece.offset, piece.bytes.data(), piece.bytes.size()))
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
