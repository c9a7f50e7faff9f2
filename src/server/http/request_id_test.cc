#include "server/http/request_id.h"

#include <gtest/gtest.h>

#include <set>

namespace tempo9::server::http {
namespace {

TEST(RequestId, WhatIsGivenIsKeptIfItCanStandAnywhere) {
  for (const std::string& good :
       {std::string("a"), std::string("A-b_c.d:9"), std::string(128, 'x')}) {
    EXPECT_EQ(request_id(good), good);
  }
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\r\nX: y"), std::string("\xc3\xa4"),
        std::string(129, 'x'), std::string(1, '\0')}) {
    EXPECT_EQ(request_id(bad).size(), 36u) << bad;
    EXPECT_TRUE(request_id(bad).starts_with("req_"));
  }
}

TEST(RequestId, MadeUpOnesDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) ids.insert(request_id(""));
  EXPECT_EQ(ids.size(), 100u);
}

}  // namespace
}  // namespace tempo9::server::http
