#include "kv/tiers/sqlite.h"

#include <gtest/gtest.h>

#include "base/testing/temp_folder.h"

namespace tempo9::kv {
namespace {

TEST(Sqlite, ValuesComeBackAndTransactionsAreWhole) {
  const TempFolder folder;
  auto db = SqlConnection::open(folder.file("db"));
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->execute("CREATE TABLE t (a INTEGER, b BLOB, c TEXT)"));
  auto insert = db->prepare("INSERT INTO t VALUES (?, ?, ?)");
  ASSERT_TRUE(insert);
  const std::vector<uint8_t> bytes = {0, 255, 7};
  ASSERT_TRUE(insert->bind(-5).bind(bytes).bind(std::string("x\0y", 3)).run());
  {
    auto transaction = SqlTransaction::begin(&*db);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(insert->reset().bind(6).bind(bytes).bind("z").run());
  }  // not committed
  auto select = db->prepare("SELECT a, b, c FROM t");
  ASSERT_TRUE(*select->next());
  EXPECT_EQ(select->integer(0), -5);
  EXPECT_TRUE(std::ranges::equal(select->bytes(1), bytes));
  EXPECT_EQ(select->text(2), std::string("x\0y", 3));
  EXPECT_FALSE(*select->next());
}

TEST(Sqlite, ErrorsNameTheFileAndTheirKind) {
  const TempFolder folder;
  auto db = SqlConnection::open(folder.write("db", std::string(5000, 'x')));
  ASSERT_TRUE(db);
  const Status status = db->execute("SELECT * FROM sqlite_master");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(status.error().message.find(folder.file("db")), std::string::npos);
  EXPECT_EQ(SqlConnection::open(folder.path()).error().code, ErrorCode::kIo);
}

// A flipped bit in the schema renames a column, and quick_check finds nothing wrong with that.
TEST(Sqlite, TablesThatDoNotFitOurStatementsAreDamage) {
  const TempFolder folder;
  auto db = SqlConnection::open(folder.file("db"));
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->execute("CREATE TABLE t (a INTEGER, c TEXT NOT NULL)"));
  EXPECT_EQ(db->prepare("SELECT b FROM t").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(db->prepare("SELECT a FROM u").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(db->execute("INSERT INTO t (a) VALUES (1)").error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace tempo9::kv
