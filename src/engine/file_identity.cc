#include "engine/file_identity.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace tempo9::engine {
namespace {

constexpr size_t kBlock = size_t{1} << 20;

using State = std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)>;

State new_state() {
  State state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  return state;
}

std::string digest(const State& state) {
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Status add_file(const std::string& path, const std::stop_token& stop, XXH3_state_t* state,
                std::vector<char>* block) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : 1;
  while (n > 0 && !stop.stop_requested()) {
    do {
      n = ::read(fd, block->data(), block->size());
    } while (n < 0 && errno == EINTR);
    if (n > 0) XXH3_128bits_update(state, block->data(), static_cast<size_t>(n));
  }
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (stop.stop_requested()) return make_error(ErrorCode::kCancelled, "{}: not read on", path);
  if (n < 0) return make_error(ErrorCode::kIo, "{}: cannot read it: {}", path, std::strerror(code));
  return {};
}

}  // namespace

Result<std::string> hash_files(const std::vector<std::string>& paths, std::stop_token stop) {
  const State state = new_state();
  std::vector<char> block(kBlock);
  for (const std::string& path : paths) T9_TRY(add_file(path, stop, state.get(), &block));
  return digest(state);
}

std::string hash_ropes(const std::vector<ops::Rope>& ropes) {
  const State state = new_state();
  for (const ops::Rope& rope : ropes) {
    XXH3_128bits_update(state.get(), rope.inv_freq.data(), rope.inv_freq.size() * sizeof(double));
    XXH3_128bits_update(state.get(), &rope.magnitude, sizeof rope.magnitude);
  }
  return digest(state);
}

}  // namespace tempo9::engine
