#include "kv/tiers/sqlite.h"

#include <utility>

namespace tempo9::kv {
namespace {

// Another process may hold the write lock for a moment.
constexpr int kBusyMs = 2000;

// The SQL is ours and right for our tables: where it does not fit, the tables are not ours any
// more.
ErrorCode kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ErrorCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:       // no such table or column
    case SQLITE_CONSTRAINT:  // a column has lost its default, or two rows have become one
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_FORMAT:
      return ErrorCode::kCorrupt;
    default:
      return code == SQLITE_IOERR_SHORT_READ ? ErrorCode::kCorrupt : ErrorCode::kIo;
  }
}

Error error_of(sqlite3* db) {
  const char* path = sqlite3_db_filename(db, "main");
  return make_error(kind_of(sqlite3_extended_errcode(db)), "{}: {}",
                    path == nullptr ? "the index" : path, sqlite3_errmsg(db));
}

}  // namespace

SqlStatement::SqlStatement(SqlStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), n_bound_(other.n_bound_) {}

SqlStatement& SqlStatement::operator=(SqlStatement&& other) noexcept {
  std::swap(statement_, other.statement_);
  std::swap(n_bound_, other.n_bound_);
  return *this;
}

SqlStatement::~SqlStatement() { sqlite3_finalize(statement_); }

SqlStatement& SqlStatement::reset() {
  sqlite3_reset(statement_);
  n_bound_ = 0;
  return *this;
}

SqlStatement& SqlStatement::bind(int64_t value) {
  sqlite3_bind_int64(statement_, ++n_bound_, value);
  return *this;
}

SqlStatement& SqlStatement::bind(const std::string& text) {
  sqlite3_bind_text(statement_, ++n_bound_, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

SqlStatement& SqlStatement::bind(std::span<const uint8_t> bytes) {
  sqlite3_bind_blob(statement_, ++n_bound_, bytes.data(), static_cast<int>(bytes.size()),
                    SQLITE_STATIC);
  return *this;
}

Result<bool> SqlStatement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  Error error = error_of(sqlite3_db_handle(statement_));
  sqlite3_reset(statement_);
  return error;
}

Status SqlStatement::run() {
  T9_TRY(next());
  return {};
}

std::string SqlStatement::text(int column) const {
  const std::span<const uint8_t> b = bytes(column);
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

std::span<const uint8_t> SqlStatement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return {static_cast<const uint8_t*>(data), data == nullptr ? 0 : size};
}

Result<SqlConnection> SqlConnection::open(const std::string& path) {
  SqlConnection connection;
  const int code = sqlite3_open_v2(path.c_str(), &connection.db_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (code != SQLITE_OK) {
    return make_error(ErrorCode::kIo, "{}: {}", path, sqlite3_errstr(code));
  }
  sqlite3_busy_timeout(connection.db_, kBusyMs);
  return connection;
}

SqlConnection::SqlConnection(SqlConnection&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)) {}

SqlConnection& SqlConnection::operator=(SqlConnection&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}

SqlConnection::~SqlConnection() { sqlite3_close_v2(db_); }

Status SqlConnection::execute(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error_of(db_);
  return {};
}

Result<SqlStatement> SqlConnection::prepare(const std::string& sql) const {
  SqlStatement statement;
  const int code = sqlite3_prepare_v3(db_, sql.c_str(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement.statement_, nullptr);
  if (code != SQLITE_OK) return error_of(db_);
  return statement;
}

Result<SqlTransaction> SqlTransaction::begin(SqlConnection* connection) {
  T9_TRY(connection->execute("BEGIN IMMEDIATE"));
  return SqlTransaction(connection);
}

SqlTransaction::SqlTransaction(SqlTransaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

SqlTransaction::~SqlTransaction() {
  // Nothing more can be done about a rollback that fails.
  if (connection_ != nullptr) (void)connection_->execute("ROLLBACK");
}

Status SqlTransaction::commit() {
  T9_TRY(connection_->execute("COMMIT"));
  connection_ = nullptr;
  return {};
}

}  // namespace tempo9::kv
