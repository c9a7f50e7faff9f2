// Without a server; with one: tests/e2e/test_pull.py.
#include "store/http_client.h"

#include <gtest/gtest.h>

namespace tempo9::store {
namespace {

TEST(HttpClient, NobodyAnswersIsToldWithoutTheQuery) {
  const auto reply = http_get("http://127.0.0.1:1/x?Signature=secret", {});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kIo);
  EXPECT_NE(reply.error().message.find("127.0.0.1:1/x"), std::string::npos);
  EXPECT_EQ(reply.error().message.find("secret"), std::string::npos);
  const auto range = http_get_range("http://127.0.0.1:1/x", {}, {0, 9}, [](auto) { return true; });
  ASSERT_TRUE(range);
  EXPECT_EQ(*range, RangeOutcome::kAgain) << "it may come back";
}

TEST(HttpClient, OnlyHttp) {
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1:1/x", "gopher://127.0.0.1:1/x"}) {
    EXPECT_FALSE(http_get(url, {})) << url;
    EXPECT_FALSE(http_get_range(url, {}, {0, 9}, [](auto) { return true; })) << url;
  }
}

}  // namespace
}  // namespace tempo9::store
