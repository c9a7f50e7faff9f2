// One large file to disk: in pieces over several connections, resumed where it was left, checked by
// its hash.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "store/http_client.h"

namespace tempo9::store {

struct Download {
  std::string url;
  HttpHeaders headers;
  std::string path;  // where it lies when it is whole
  uint64_t n_bytes = 0;
  std::string sha256;  // 64 hexadecimal digits; empty: not known
  unsigned n_connections = 4;
  uint64_t piece_bytes = uint64_t{16} << 20;
  std::function<void(uint64_t n_done)> progress;  // one thread at a time; may be null
};

// Until it is whole it is path + ".part", beside it ".part.json" says which pieces are there. What
// is killed goes on from there, if the server still says the same size and hash; without a hash it
// starts again. Nothing is fetched if a file of that size and hash is at path.
// Errors: kIo (no room, cannot write, no answer after several tries, another process has it),
// kCorrupt (another hash: what came is removed), as http_get_range.
Status download(const Download& what);

// SHA-256 in hexadecimal digits. Errors: kIo.
Result<std::string> sha256_of(const std::string& path);

}  // namespace tempo9::store
