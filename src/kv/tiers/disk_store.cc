// Writing, reading and finding pages. Opening and making room: disk_store_space.cc.
#include "kv/tiers/disk_store.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/file_io.h"

namespace tempo9::kv {
namespace {

constexpr size_t kMaxReaders = 16;

// Children of one prefix that are looked through for the longest beginning.
constexpr int kMaxChildren = 64;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::span<const uint8_t> bytes_of(const PrefixKey& key) {
  return {reinterpret_cast<const uint8_t*>(&key), sizeof(key)};
}

std::span<const uint8_t> bytes_of(const std::array<TokenId, kPageTokens>& tokens) {
  return {reinterpret_cast<const uint8_t*>(tokens.data()), sizeof(tokens)};
}

bool copy_to(std::span<const uint8_t> bytes, void* to, size_t n) {
  if (bytes.size() == n) std::memcpy(to, bytes.data(), n);
  return bytes.size() == n;
}

Error io_error(const std::string& path) {
  const int code = errno;
  return make_error(
      code == ENOSPC || code == EDQUOT ? ErrorCode::kResourceExhausted : ErrorCode::kIo, "{}: {}",
      path, std::strerror(code));
}

}  // namespace

uint64_t DiskStore::checksum(const PageName& name, std::span<const uint8_t> bytes) const {
  // Whatever of the index's row is damaged, too, shows here.
  XXH64_hash_t seed = XXH3_64bits(options_.identity.data(), options_.identity.size());
  seed = XXH3_64bits_withSeed(&name, sizeof(name), seed);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}
static_assert(sizeof(PageName) == 2 * sizeof(PrefixKey) + kPageTokens * sizeof(TokenId));

Status DiskStore::prepare() {
  const std::string columns = "key, parent, tokens, segment, offset, checksum";
  T9_TRY(insert_page_, db_->prepare("INSERT OR IGNORE INTO page (space, " + columns +
                                    ", used) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  T9_TRY(find_key_,
         db_->prepare("SELECT " + columns + " FROM page WHERE space = ? AND key = ? LIMIT 1"));
  T9_TRY(find_children_,
         db_->prepare(fmt::format("SELECT {} FROM page WHERE space = ? AND parent = ? LIMIT {}",
                                  columns, kMaxChildren)));
  T9_TRY(delete_page_, db_->prepare("DELETE FROM page WHERE space = ? AND key = ?"));
  T9_TRY(touch_page_, db_->prepare("UPDATE page SET used = ? WHERE space = ? AND key = ?"));
  T9_TRY(segment_name_, db_->prepare("SELECT name FROM segment WHERE id = ?"));
  return {};
}

Result<std::vector<PrefixKey>> DiskStore::keys() {
  T9_TRY(SqlStatement select, db_->prepare("SELECT key FROM page WHERE space = ?"));
  select.bind(space_);
  std::vector<PrefixKey> keys;
  for (;;) {
    T9_TRY(const bool has_row, select.next());
    if (!has_row) return keys;
    PrefixKey key;
    if (copy_to(select.bytes(0), &key, sizeof(key))) keys.push_back(key);
  }
}

Status DiskStore::put(const PageName& name, std::span<const uint8_t> bytes) {
  T9_CHECK(bytes.size() == options_.page_bytes);
  find_key_.reset().bind(space_).bind(bytes_of(name.key));
  T9_TRY(const bool known, find_key_.next());
  find_key_.reset();
  if (known) return {};
  if (writing_.fd >= 0 && writing_.size + bytes.size() > segment_bytes_) close_segment();
  if (writing_.fd < 0) T9_TRY(begin_segment());
  if (!write_at(writing_.fd, writing_.size, bytes.data(), bytes.size())) {
    Error error = io_error(options_.folder);
    close_segment();
    return error;
  }
  insert_page_.reset().bind(space_).bind(bytes_of(name.key)).bind(bytes_of(name.parent));
  insert_page_.bind(bytes_of(name.tokens)).bind(writing_.id);
  insert_page_.bind(static_cast<int64_t>(writing_.size));
  insert_page_.bind(static_cast<int64_t>(checksum(name, bytes))).bind(now());
  T9_TRY(insert_page_.run());
  writing_.size += bytes.size();
  return {};
}

Result<std::optional<DiskStore::Row>> DiskStore::find_row(const PrefixKey& parent,
                                                          std::span<const TokenId> tokens,
                                                          uint32_t min) {
  std::optional<Row> best;
  uint32_t n_best = std::max(min, 1u) - 1;
  const auto consider = [&](const SqlStatement& select) {
    Row row;
    if (!copy_to(select.bytes(0), &row.name.key, sizeof(PrefixKey)) ||
        !copy_to(select.bytes(1), &row.name.parent, sizeof(PrefixKey)) ||
        !copy_to(select.bytes(2), row.name.tokens.data(), sizeof(row.name.tokens))) {
      return;
    }
    const uint32_t n = row.name.parent == parent ? common_prefix(row.name.tokens, tokens) : 0;
    if (n <= n_best) return;
    row.segment = select.integer(3);
    row.offset = static_cast<uint64_t>(select.integer(4));
    row.checksum = static_cast<uint64_t>(select.integer(5));
    best = row;
    n_best = n;
  };
  if (tokens.size() == kPageTokens) {
    const PrefixKey key = extend_key(secret_, parent, tokens);
    find_key_.reset().bind(space_).bind(bytes_of(key));
    T9_TRY(const bool has_row, find_key_.next());
    if (has_row) consider(find_key_);
    find_key_.reset();
  }
  if (best || min >= kPageTokens) return best;
  find_children_.reset().bind(space_).bind(bytes_of(parent));
  for (;;) {
    T9_TRY(const bool has_row, find_children_.next());
    if (!has_row) return best;
    consider(find_children_);
  }
}

Result<std::optional<DiskStore::Found>> DiskStore::find(const PrefixKey& parent,
                                                        std::span<const TokenId> tokens,
                                                        uint32_t min) {
  T9_CHECK(tokens.size() <= kPageTokens);
  T9_TRY(const std::optional<Row> row, find_row(parent, tokens, min));
  if (!row) return std::optional<Found>();
  Found found{row->name, std::vector<uint8_t>(options_.page_bytes)};
  T9_TRY(const bool whole, read(*row, found.bytes));
  if (!whole) {
    ++n_damaged_;
    removed_.push_back(row->name.key);
    T9_TRY(remove_page(row->name.key));
    return std::optional<Found>();
  }
  touch_page_.reset().bind(now()).bind(space_).bind(bytes_of(found.name.key));
  (void)touch_page_.run();  // on a full disk too, what is there is read
  return std::optional<Found>(std::move(found));
}

// False: the bytes are not what was stored.
Result<bool> DiskStore::read(const Row& row, std::span<uint8_t> bytes) {
  T9_TRY(const int fd, reader(row.segment));
  if (fd < 0) return false;
  if (!read_at(fd, row.offset, bytes.data(), bytes.size())) return false;
  return checksum(row.name, bytes) == row.checksum;
}

// -1: the file is gone.
Result<int> DiskStore::reader(int64_t segment) {
  const auto it = readers_.find(segment);
  if (it != readers_.end()) return it->second;
  segment_name_.reset().bind(segment);
  T9_TRY(const bool has_row, segment_name_.next());
  const std::string name = has_row ? segment_name_.text(0) : "";
  segment_name_.reset();
  if (!is_segment_name(name)) return -1;
  const int fd = ::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  if (readers_.size() >= kMaxReaders) {
    ::close(readers_.begin()->second);
    readers_.erase(readers_.begin());
  }
  readers_[segment] = fd;
  return fd;
}

Status DiskStore::remove_page(const PrefixKey& key) {
  return delete_page_.reset().bind(space_).bind(bytes_of(key)).run();
}

std::vector<PrefixKey> DiskStore::take_removed() { return std::exchange(removed_, {}); }

}  // namespace tempo9::kv
