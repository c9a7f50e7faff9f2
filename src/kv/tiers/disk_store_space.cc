// DiskStore: opening a folder, and keeping it within its cap.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "kv/tiers/disk_store.h"

namespace tempo9::kv {
namespace {

namespace fs = std::filesystem;

constexpr int kFormatVersion = 1;
constexpr const char* kIndexFiles[] = {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm"};
constexpr const char* kSegmentSuffix = ".kvseg";
constexpr uint64_t kMaxSegmentBytes = uint64_t{64} << 20;
constexpr uint64_t kIndexSlack = uint64_t{512} << 10;
constexpr uint64_t kIndexBytesPerPage = 1024;

// Small steps, so that the log stays small beside a small cap; FULL gives room back at once.
constexpr const char* kPragmas =
    "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "PRAGMA wal_autocheckpoint = 64; PRAGMA journal_size_limit = 262144;";

constexpr const char* kTables =
    "CREATE TABLE folder (secret BLOB NOT NULL);"
    "CREATE TABLE space (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);"
    "CREATE TABLE segment (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,"
    " bytes INTEGER NOT NULL);"
    "CREATE TABLE page (space INTEGER NOT NULL, key BLOB NOT NULL, parent BLOB NOT NULL,"
    " tokens BLOB NOT NULL, segment INTEGER NOT NULL, offset INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (space, key)) WITHOUT ROWID;"
    "CREATE INDEX page_parent ON page (space, parent);"
    "CREATE INDEX page_segment ON page (segment);";

uint64_t size_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

uint64_t random64() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// An open file that nobody else writes; -1 when somebody does, or there is none.
int lock_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

// Whether something is in it that no store put there.
bool holds_other_files(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_index = std::ranges::find(kIndexFiles, name) != std::end(kIndexFiles);
    if (!is_index && !is_segment_name(name) && name != "lost+found") return true;
  }
  return false;
}

// What users said is nobody else's business. A folder that has another use (/tmp, a home) stays as
// it is.
Status make_private(const std::string& folder) {
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (error) {
    return make_error(ErrorCode::kIo, "{}: cannot make the folder: {}", folder, error.message());
  }
  if (is_new || !holds_other_files(folder)) {
    fs::permissions(folder, fs::perms::owner_all, error);
    return {};
  }
  constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
  if ((fs::status(folder, error).permissions() & kOthers) == fs::perms::none) return {};
  return make_error(ErrorCode::kIo,
                    "{}: found other files in a folder that other users can open, expected a "
                    "folder of its own, such as {}/tempo9-kv",
                    folder, folder);
}

}  // namespace

bool is_segment_name(const std::string& name) {
  return name.ends_with(kSegmentSuffix) && name.find('/') == std::string::npos;
}

DiskStore::DiskStore(const DiskStoreOptions& options) : options_(options) {
  const uint64_t n_pages =
      std::max<uint64_t>(1, std::min(kMaxSegmentBytes, options.cap_bytes / 8) / options.page_bytes);
  segment_bytes_ = n_pages * options.page_bytes;
  index_slack_ = kIndexSlack + n_pages * kIndexBytesPerPage;
}

DiskStore::~DiskStore() {
  if (db_) close_segment();
  for (const auto& [segment, fd] : readers_) ::close(fd);
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(const DiskStoreOptions& options) {
  T9_TRY(make_private(options.folder));
  std::unique_ptr<DiskStore> store(new DiskStore(options));
  Status opened = store->open_index();
  if (!opened && opened.error().code == ErrorCode::kCorrupt) {
    store->start_anew();
    opened = store->open_index();
  }
  if (!opened) return std::move(opened).error();
  if (store->segment_bytes_ + store->index_slack_ + store->index_bytes() > options.cap_bytes) {
    return make_error(ErrorCode::kResourceExhausted, "{}: {} MiB are too few: a page takes {} KiB",
                      options.folder, options.cap_bytes >> 20, options.page_bytes >> 10);
  }
  return store;
}

Status DiskStore::open_index() {
  T9_TRY(db_, SqlConnection::open(path_of(kIndexFiles[0])));
  T9_TRY(check_owner());
  T9_TRY(db_->execute(kPragmas));
  T9_TRY(SqlStatement version, db_->prepare("PRAGMA user_version"));
  T9_TRY(version.next());
  const int64_t found = version.integer(0);
  version.reset();
  if (found == 0) {
    T9_TRY(create_tables());
  } else if (found != kFormatVersion) {
    return make_error(ErrorCode::kCorrupt, "{}: of another format", options_.folder);
  } else {
    T9_TRY(SqlStatement check, db_->prepare("PRAGMA quick_check(1)"));
    T9_TRY(check.next());
    if (check.text(0) != "ok") {
      return make_error(ErrorCode::kCorrupt, "{}: {}", options_.folder, check.text(0));
    }
  }
  T9_TRY(prepare());
  T9_TRY(read_identity());
  return clean_up();
}

// Another program's database of that name is not damage, which would be removed.
Status DiskStore::check_owner() const {
  T9_TRY(SqlStatement tables,
         db_->prepare("SELECT count(*), "
                      "coalesce(sum(name IN ('folder', 'space', 'segment', 'page')), 0) "
                      "FROM sqlite_master WHERE type = 'table'"));
  T9_TRY(tables.next());
  if (tables.integer(0) == 0 || tables.integer(1) > 1) return {};  // one may be damaged
  return make_error(ErrorCode::kIo, "{}: is another program's, expected a folder of its own",
                    path_of(kIndexFiles[0]));
}

Status DiskStore::create_tables() {
  T9_TRY(SqlTransaction transaction, SqlTransaction::begin(&*db_));
  T9_TRY(SqlStatement version, db_->prepare("PRAGMA user_version"));
  T9_TRY(version.next());
  if (version.integer(0) == kFormatVersion) return {};  // another process was first
  version.reset();
  T9_TRY(db_->execute(kTables));
  const HashKey secret = {random64(), random64()};
  T9_TRY(SqlStatement insert, db_->prepare("INSERT INTO folder (secret) VALUES (?)"));
  insert.bind(std::span(reinterpret_cast<const uint8_t*>(secret.data()), sizeof(secret)));
  T9_TRY(insert.run());
  T9_TRY(db_->execute(fmt::format("PRAGMA user_version = {}", kFormatVersion)));
  return transaction.commit();
}

Status DiskStore::read_identity() {
  T9_TRY(SqlStatement secret, db_->prepare("SELECT secret FROM folder"));
  T9_TRY(const bool has_secret, secret.next());
  if (!has_secret || secret.bytes(0).size() != sizeof(secret_)) {
    return make_error(ErrorCode::kCorrupt, "{}: holds no key", options_.folder);
  }
  std::memcpy(secret_.data(), secret.bytes(0).data(), sizeof(secret_));
  secret.reset();
  T9_TRY(SqlStatement insert, db_->prepare("INSERT OR IGNORE INTO space (identity) VALUES (?)"));
  T9_TRY(insert.bind(options_.identity).run());
  T9_TRY(SqlStatement select, db_->prepare("SELECT id FROM space WHERE identity = ?"));
  T9_TRY(select.bind(options_.identity).next());
  space_ = select.integer(0);
  return {};
}

Status DiskStore::clean_up() {
  T9_TRY(SqlTransaction transaction, SqlTransaction::begin(&*db_));
  T9_TRY(settle_segments());
  T9_TRY(remove_unlisted_files());
  T9_TRY(make_room(0));
  return transaction.commit();
}

// Segments of processes that are gone count what they hold, not what they had reserved.
Status DiskStore::settle_segments() {
  T9_TRY(SqlStatement select, db_->prepare("SELECT id, name FROM segment"));
  std::vector<std::pair<int64_t, std::string>> segments;
  for (;;) {
    T9_TRY(const bool has_row, select.next());
    if (!has_row) break;
    segments.emplace_back(select.integer(0), select.text(1));
  }
  T9_TRY(SqlStatement update, db_->prepare("UPDATE segment SET bytes = ? WHERE id = ?"));
  for (const auto& [id, name] : segments) {
    const std::string path = path_of(name);
    const int fd = is_segment_name(name) ? lock_file(path) : -1;
    if (fd < 0 && is_segment_name(name) && fs::exists(path)) continue;  // somebody writes it
    const uint64_t size = fd >= 0 ? size_of(path) : 0;
    if (fd >= 0) ::close(fd);
    if (size == 0) {
      T9_TRY(remove_segment(id, name));
      continue;
    }
    T9_TRY(update.reset().bind(static_cast<int64_t>(size)).bind(id).run());
  }
  return {};
}

Status DiskStore::remove_unlisted_files() {
  T9_TRY(SqlStatement select, db_->prepare("SELECT 1 FROM segment WHERE name = ?"));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!is_segment_name(name)) continue;
    T9_TRY(const bool listed, select.reset().bind(name).next());
    if (listed) continue;
    const int fd = lock_file(entry.path().string());
    if (fd < 0) continue;
    ::unlink(entry.path().c_str());
    ::close(fd);
  }
  return {};
}

// The index is damaged: what it knew is lost, and what nobody writes goes.
void DiskStore::start_anew() {
  insert_page_ = {}, find_key_ = {}, find_children_ = {};
  delete_page_ = {}, touch_page_ = {}, segment_name_ = {};
  db_.reset();
  for (const char* name : kIndexFiles) ::unlink(path_of(name).c_str());
}

uint64_t DiskStore::index_bytes() const {
  uint64_t total = 0;
  for (const char* name : kIndexFiles) total += size_of(path_of(name));
  return total;
}

uint64_t DiskStore::bytes_on_disk() const {
  uint64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.folder, error)) {
    total += size_of(entry.path().string());
  }
  return total;
}

Result<uint64_t> DiskStore::reserved_bytes() {
  T9_TRY(SqlStatement sum, db_->prepare("SELECT TOTAL(bytes) FROM segment"));
  T9_TRY(sum.next());
  return static_cast<uint64_t>(sum.integer(0));
}

// Removes the oldest segments until n_bytes more fit. Requires: a transaction.
Status DiskStore::make_room(uint64_t n_bytes) {
  for (;;) {
    T9_TRY(const uint64_t reserved, reserved_bytes());
    if (reserved + n_bytes + index_bytes() + index_slack_ <= options_.cap_bytes) return {};
    T9_TRY(const bool evicted, evict_segment());
    if (evicted) continue;
    if (n_bytes == 0) return {};  // others are writing all there is
    return make_error(ErrorCode::kResourceExhausted,
                      "{}: other processes hold all of the {} MiB allowed", options_.folder,
                      options_.cap_bytes >> 20);
  }
}

// The segment whose last use is the longest ago and which nobody writes.
Result<bool> DiskStore::evict_segment() {
  T9_TRY(SqlStatement select,
         db_->prepare("SELECT segment.id, segment.name FROM segment LEFT JOIN page "
                      "ON page.segment = segment.id GROUP BY segment.id ORDER BY MAX(used)"));
  std::vector<std::pair<int64_t, std::string>> segments;
  for (;;) {
    T9_TRY(const bool has_row, select.next());
    if (!has_row) break;
    segments.emplace_back(select.integer(0), select.text(1));
  }
  for (const auto& [id, name] : segments) {
    if (id == writing_.id && writing_.fd >= 0) continue;
    T9_TRY(const bool removed, remove_segment(id, name));
    if (removed) return true;
  }
  return false;
}

// False: somebody writes it.
Result<bool> DiskStore::remove_segment(int64_t id, const std::string& name) {
  const std::string path = path_of(name);
  if (is_segment_name(name)) {
    const int fd = lock_file(path);
    if (fd < 0 && fs::exists(path)) return false;
    ::unlink(path.c_str());
    if (fd >= 0) ::close(fd);
  }
  if (const auto it = readers_.find(id); it != readers_.end()) {
    ::close(it->second);
    readers_.erase(it);
  }
  T9_TRY(SqlStatement select, db_->prepare("SELECT key FROM page WHERE segment = ? AND space = ?"));
  select.bind(id).bind(space_);
  for (;;) {
    T9_TRY(const bool has_row, select.next());
    if (!has_row) break;
    PrefixKey key;
    if (select.bytes(0).size() == sizeof(key)) {
      std::memcpy(&key, select.bytes(0).data(), sizeof(key));
      removed_.push_back(key);
    }
  }
  for (const char* sql :
       {"DELETE FROM page WHERE segment = ?", "DELETE FROM segment WHERE id = ?"}) {
    T9_TRY(SqlStatement remove, db_->prepare(sql));
    T9_TRY(remove.bind(id).run());
  }
  return true;
}

Status DiskStore::begin_segment() {
  T9_TRY(SqlTransaction transaction, SqlTransaction::begin(&*db_));
  T9_TRY(make_room(segment_bytes_));
  const std::string name = fmt::format("{:016x}{}", random64(), kSegmentSuffix);
  T9_TRY(SqlStatement insert, db_->prepare("INSERT INTO segment (name, bytes) VALUES (?, ?)"));
  T9_TRY(insert.bind(name).bind(static_cast<int64_t>(segment_bytes_)).run());
  const int64_t id = db_->last_row_id();
  const std::string path = path_of(name);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    Error error = make_error(ErrorCode::kIo, "{}: {}", path, std::strerror(errno));
    if (fd >= 0) ::unlink(path.c_str());
    if (fd >= 0) ::close(fd);
    return error;
  }
  writing_ = {id, name, fd, 0};
  Status committed = transaction.commit();
  if (!committed) {
    ::unlink(path.c_str());
    ::close(std::exchange(writing_.fd, -1));
  }
  return committed;
}

// Gives back what it had reserved and does not hold. Best effort: settle_segments() does it again.
void DiskStore::close_segment() {
  if (writing_.fd < 0) return;
  if (writing_.size == 0) {
    // The disk is full: each try would leave a file.
    ::close(std::exchange(writing_.fd, -1));
    (void)remove_segment(writing_.id, writing_.name);
    return;
  }
  [[maybe_unused]] const int cut = ::ftruncate(writing_.fd, static_cast<off_t>(writing_.size));
  if (auto update = db_->prepare("UPDATE segment SET bytes = ? WHERE id = ?")) {
    (void)update->bind(static_cast<int64_t>(writing_.size)).bind(writing_.id).run();
  }
  ::close(std::exchange(writing_.fd, -1));
}

}  // namespace tempo9::kv
