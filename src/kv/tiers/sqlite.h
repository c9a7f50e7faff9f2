// SQLite with our errors: a connection, and statements that are prepared once and used again.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace tempo9::kv {

// A prepared statement. bind() in order, then run() or next() until false; reset() before the next
// use. Threads: its connection's one.
class SqlStatement {
 public:
  SqlStatement() = default;
  SqlStatement(SqlStatement&& other) noexcept;
  SqlStatement& operator=(SqlStatement&& other) noexcept;
  ~SqlStatement();

  SqlStatement& reset();
  SqlStatement& bind(int64_t value);
  SqlStatement& bind(const std::string& text);
  // The bytes must live until the statement has run.
  SqlStatement& bind(std::span<const uint8_t> bytes);

  // For statements that return no rows. Errors: kResourceExhausted (disk full), kCorrupt (damaged),
  // kIo.
  Status run();
  // True: there is a row, whose columns can be read until the next call.
  Result<bool> next();
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const;
  std::span<const uint8_t> bytes(int column) const;

 private:
  friend class SqlConnection;
  sqlite3_stmt* statement_ = nullptr;
  int n_bound_ = 0;
};

class SqlConnection {
 public:
  // Opens or creates. Errors: kCorrupt for a file that is no database, kIo.
  static Result<SqlConnection> open(const std::string& path);
  SqlConnection(SqlConnection&& other) noexcept;
  SqlConnection& operator=(SqlConnection&& other) noexcept;
  ~SqlConnection();

  Status execute(const std::string& sql);
  Result<SqlStatement> prepare(const std::string& sql) const;
  int64_t last_row_id() const { return sqlite3_last_insert_rowid(db_); }

 private:
  SqlConnection() = default;
  sqlite3* db_ = nullptr;
};

// A write transaction: rolled back unless commit() was called.
class SqlTransaction {
 public:
  static Result<SqlTransaction> begin(SqlConnection* connection);
  SqlTransaction(SqlTransaction&& other) noexcept;
  SqlTransaction& operator=(SqlTransaction&&) = delete;
  ~SqlTransaction();
  Status commit();

 private:
  explicit SqlTransaction(SqlConnection* connection) : connection_(connection) {}
  SqlConnection* connection_;
};

}  // namespace tempo9::kv
