#include "store/download.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_io.h"

namespace tempo9::store {
namespace fs = std::filesystem;

namespace {

constexpr int kTries = 6;  // of one piece, without a byte between them
constexpr std::chrono::milliseconds kFirstPause{250};

Error io_error(const std::string& path, const char* what) {
  return Error{ErrorCode::kIo, fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno))};
}

// Which pieces are on disk; and the file that says so.
class Pieces {
 public:
  Pieces(const Download& what, std::string path)
      : path_(std::move(path)),
        head_{
            {"n_bytes", what.n_bytes}, {"sha256", what.sha256}, {"piece_bytes", what.piece_bytes}},
        done_((what.n_bytes + what.piece_bytes - 1) / what.piece_bytes) {}

  void load() {
    std::ifstream file(path_);
    const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("done") || !json["done"].is_array()) return;
    for (const auto& [key, value] : head_.items()) {
      if (!json.contains(key) || json[key] != value) return;
    }
    for (const auto& piece : json["done"]) {
      if (piece.is_number_unsigned() && piece.get<uint64_t>() < done_.size()) {
        done_[piece.get<uint64_t>()] = true;
      }
    }
  }
  void clear() { done_.assign(done_.size(), false); }

  // Behind the bytes: data first, then the word that it is there.
  bool mark(uint64_t piece) {
    done_[piece] = true;
    nlohmann::json json = head_;
    json["done"] = nlohmann::json::array();
    for (uint64_t i = 0; i < done_.size(); ++i) {
      if (done_[i]) json["done"].push_back(i);
    }
    const std::string fresh = path_ + ".new";
    std::ofstream(fresh) << json.dump() << '\n';
    std::error_code error;
    fs::rename(fresh, path_, error);
    return !error;
  }
  bool is_done(uint64_t piece) const { return done_[piece]; }
  uint64_t size() const { return done_.size(); }

 private:
  std::string path_;
  nlohmann::json head_;
  std::vector<bool> done_;
};

class Transfer {
 public:
  Transfer(const Download& what, int fd, Pieces* pieces) : what_(what), fd_(fd), pieces_(pieces) {
    for (uint64_t i = 0; i < pieces_->size(); ++i) {
      if (pieces_->is_done(i)) n_done_ += range_of(i).end - range_of(i).begin;
    }
  }

  // kNoRanges: start again with one connection and one piece.
  Result<RangeOutcome> run() {
    report(0);
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 0; i < std::max(1u, what_.n_connections); ++i) {
        threads.emplace_back([this] { work(); });
      }
    }
    if (failure_) return *failure_;
    return no_ranges_ ? RangeOutcome::kNoRanges : RangeOutcome::kWhole;
  }

 private:
  HttpRange range_of(uint64_t piece) const {
    const uint64_t begin = piece * what_.piece_bytes;
    return {begin, std::min(begin + what_.piece_bytes, what_.n_bytes)};
  }

  std::optional<uint64_t> take() {
    const std::lock_guard lock(mutex_);
    while (next_ < pieces_->size() && pieces_->is_done(next_)) ++next_;
    if (failure_ || no_ranges_ || next_ == pieces_->size()) return std::nullopt;
    return next_++;
  }
  bool stopped() {
    const std::lock_guard lock(mutex_);
    return failure_ || no_ranges_;
  }
  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
    changed_.notify_all();
  }
  void report(uint64_t n) {
    const std::lock_guard lock(mutex_);
    n_done_ += n;
    if (what_.progress) what_.progress(n_done_);
  }
  void pause(std::chrono::milliseconds delay) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, delay, [this] { return failure_ || no_ranges_; });
  }

  void work() {
    while (const auto piece = take()) {
      if (!fetch(*piece)) return;
      const std::lock_guard lock(mutex_);
      if (!pieces_->mark(*piece)) failure_ = io_error(what_.path + ".part.json", "write it");
    }
  }

  bool fetch(uint64_t piece) {
    HttpRange range = range_of(piece);
    bool cannot_write = false;
    const auto sink = [&](std::string_view bytes) {
      if (stopped()) return false;
      if (!write_at(fd_, range.begin, bytes.data(), bytes.size())) {
        cannot_write = true;
        return false;
      }
      range.begin += bytes.size();
      report(bytes.size());
      return true;
    };
    int n_tries = 0;
    auto delay = kFirstPause;
    while (!stopped()) {
      const HttpRange asked = range;
      const auto outcome = http_get_range(what_.url, what_.headers, asked, sink);
      if (cannot_write) {
        fail(io_error(what_.path + ".part", "write it"));
        return false;
      }
      if (!outcome) {
        if (!stopped()) fail(outcome.error());
        return false;
      }
      if (*outcome == RangeOutcome::kWhole) return true;
      if (*outcome == RangeOutcome::kNoRanges) {
        const std::lock_guard lock(mutex_);
        no_ranges_ = true;
        changed_.notify_all();
        return false;
      }
      const bool moved = range.begin > asked.begin;
      n_tries = moved ? 0 : n_tries + 1;
      if (n_tries == kTries) {
        fail({ErrorCode::kIo,
              fmt::format("{}: no answer after {} tries; ask again, and it goes on from here",
                          what_.url.substr(0, what_.url.find('?')), kTries)});
        return false;
      }
      if (moved) delay = kFirstPause;
      pause(delay);
      delay *= 2;
    }
    return false;
  }

  const Download& what_;
  int fd_;
  Pieces* pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  uint64_t next_ = 0;
  uint64_t n_done_ = 0;
  std::optional<Error> failure_;
  bool no_ranges_ = false;
};

Status check_room(const Download& what, uint64_t n_there) {
  std::error_code error;
  const auto space = fs::space(fs::path(what.path).parent_path(), error);
  const uint64_t n_needed = what.n_bytes - std::min(what.n_bytes, n_there);
  if (error || space.available >= n_needed) return {};
  return make_error(ErrorCode::kIo, "{}: needs {} MB more, {} MB are free on that disk", what.path,
                    n_needed / 1'000'000, space.available / 1'000'000);
}

// Bytes that the file has on disk: it is sparse until it is whole.
uint64_t bytes_on_disk(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * 512 : 0;
}

Status fetch_all(const Download& what, int fd) {
  Pieces pieces(what, what.path + ".part.json");
  if (!what.sha256.empty()) pieces.load();  // else nobody could tell whether they fit together
  T9_TRY(const RangeOutcome outcome, Transfer(what, fd, &pieces).run());
  if (outcome == RangeOutcome::kWhole) return {};
  Download whole = what;
  whole.n_connections = 1;
  whole.piece_bytes = what.n_bytes;
  Pieces one(whole, what.path + ".part.json");
  T9_TRY(const RangeOutcome second, Transfer(whole, fd, &one).run());
  if (second == RangeOutcome::kWhole) return {};
  return make_error(ErrorCode::kIo,
                    "{}: broke off, and this server cannot go on from there; try again", what.path);
}

// The file at path, made if need be.
Result<Fd> open_locked(const std::string& path) {
  while (true) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (fd.get() < 0) return io_error(path, "open it");
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return make_error(ErrorCode::kIo, "{}: another process is fetching it", path);
    }
    // Whoever had the lock until just now may have renamed or removed what was opened.
    struct stat held{}, there{};
    if (::fstat(fd.get(), &held) != 0) return io_error(path, "look at it");
    const bool is_there = ::stat(path.c_str(), &there) == 0;
    if (is_there && there.st_dev == held.st_dev && there.st_ino == held.st_ino) return fd;
  }
}

// What lies there already is what is wanted. Its size alone does not say so.
Result<bool> is_whole(const Download& what) {
  std::error_code error;
  const auto n_bytes = fs::file_size(what.path, error);
  if (error || n_bytes != what.n_bytes || what.sha256.empty()) return false;
  T9_TRY(const std::string found, sha256_of(what.path));
  return found == what.sha256;
}

}  // namespace

Result<std::string> sha256_of(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (fd.get() < 0) return io_error(path, "open it");
  bool ok = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  std::vector<char> block(1 << 20);
  while (ok) {
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, "read it");
    if (n == 0) break;
    ok = EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(n)) == 1;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n_digest = 0;
  ok = ok && EVP_DigestFinal_ex(context.get(), digest, &n_digest) == 1;
  if (!ok) return make_error(ErrorCode::kInternal, "{}: SHA-256 failed", path);
  return fmt::format("{:02x}", fmt::join(digest, digest + n_digest, ""));
}

Status download(const Download& what) {
  const std::string part = what.path + ".part";
  // Locked until the end: nobody else writes, checks or renames it.
  T9_TRY(const Fd fd, open_locked(part));
  std::error_code error;
  T9_TRY(const bool is_there, is_whole(what));
  if (is_there) {
    fs::remove(part + ".json", error);
    fs::remove(part, error);
    return {};
  }
  T9_TRY(check_room(what, bytes_on_disk(fd.get())));
  if (::ftruncate(fd.get(), static_cast<off_t>(what.n_bytes)) != 0) {
    return io_error(part, "make room for it");
  }
  T9_TRY(fetch_all(what, fd.get()));
  if (::fsync(fd.get()) != 0) return io_error(part, "write it");
  if (!what.sha256.empty()) {
    T9_TRY(const std::string found, sha256_of(part));
    if (found != what.sha256) {
      fs::remove(part + ".json", error);
      fs::remove(part, error);
      return make_error(ErrorCode::kCorrupt,
                        "{}: found SHA-256 {}, expected {}; what came was removed", what.path,
                        found, what.sha256);
    }
  }
  // First what says which pieces are there: a new .part must not be taken for this one.
  fs::remove(part + ".json", error);
  fs::rename(part, what.path, error);
  if (error) return make_error(ErrorCode::kIo, "{}: {}", what.path, error.message());
  return {};
}

}  // namespace tempo9::store
