// The beginning of a large file elsewhere, fetched as far as it is read: what a GGUF file says of
// itself stands there, and the weights behind it are not wanted.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/source.h"

namespace tempo9::store {

class RemoteHeader {
 public:
  // headers: of RemoteModel.
  RemoteHeader(RemoteFile file, HttpHeaders headers)
      : file_(std::move(file)), headers_(std::move(headers)) {}

  const RemoteFile& file() const { return file_; }
  // Bytes that came so far.
  uint64_t n_fetched() const { return bytes_.size(); }

  // Copies bytes [offset, offset + n) to dst. Fetches all up to there: a megabyte first, then twice
  // as much each time. Requires: offset + n <= file().n_bytes. Errors: kCorrupt (no header is so
  // long), as http_get_range; kIo (no answer after several tries).
  Status read(uint64_t offset, void* dst, size_t n);

 private:
  Status fetch_to(uint64_t end);

  RemoteFile file_;
  HttpHeaders headers_;
  std::string bytes_;  // [0, n_fetched())
};

}  // namespace tempo9::store
