#include "server/http/request_head.h"

#include <gtest/gtest.h>

namespace tempo9::server::http {
namespace {

TEST(RequestHead, TargetHeadersAndSession) {
  boost::beast::http::request_header<> head;
  head.method_string("POST");
  head.target("/v1/messages?beta=true");
  head.set("host", "localhost:9000");
  head.set("X-Claude-Code-Session-Id", "b1");
  head.set("X-Session-Id", "other");
  const Request request = read_head(head);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/messages");
  EXPECT_EQ(request.query, "beta=true");
  EXPECT_EQ(request.host, "localhost:9000");
  EXPECT_EQ(request.session, "b1");
  EXPECT_FALSE(request.id.empty());
}

}  // namespace
}  // namespace tempo9::server::http
