// Without a server; with one: tests/e2e/test_doctor.py.
#include "store/remote_header.h"

#include <gtest/gtest.h>

namespace tempo9::store {
namespace {

TEST(RemoteHeader, NobodyAnswersIsToldWithoutTheQuery) {
  RemoteHeader header(
      {.name = "x.gguf", .url = "http://127.0.0.1:1/x.gguf?Signature=secret", .n_bytes = 100}, {});
  char byte = 0;
  const Status read = header.read(0, &byte, 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
  EXPECT_NE(read.error().message.find("127.0.0.1:1/x.gguf"), std::string::npos);
  EXPECT_EQ(read.error().message.find("secret"), std::string::npos);
  EXPECT_EQ(header.n_fetched(), 0u);
}

TEST(RemoteHeader, NothingIsAskedForNothing) {
  RemoteHeader header({.name = "x", .url = "http://127.0.0.1:1/x", .n_bytes = 100}, {});
  EXPECT_TRUE(header.read(100, nullptr, 0));
}

TEST(RemoteHeader, AnAbsurdHeaderIsNotFetched) {
  RemoteHeader header({.name = "x.gguf", .url = "http://127.0.0.1:1/x", .n_bytes = 1ull << 40}, {});
  char byte = 0;
  const Status read = header.read(1ull << 39, &byte, 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(read.error().message.find("x.gguf"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::store
