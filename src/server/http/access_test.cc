#include "server/http/access.h"

#include <gtest/gtest.h>

namespace tempo9::server::http {
namespace {

Request request(std::string method, std::string host, std::string origin = "") {
  return {.method = std::move(method),
          .path = "/v1/models",
          .body = "",
          .host = std::move(host),
          .origin = std::move(origin),
          .authorization = "",
          .x_api_key = ""};
}

int status(const AccessRules& rules, const Request& r) {
  const auto refusal = check_access(rules, r);
  return refusal ? refusal->status : 200;
}

TEST(Access, HostHeader) {
  AccessRules rules;
  for (const char* host : {"localhost", "LOCALHOST:11435", "127.0.0.1:11435", "[::1]:1", ""}) {
    EXPECT_EQ(status(rules, request("GET", host)), 200) << host;
  }
  for (const char* host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]"}) {
    EXPECT_EQ(status(rules, request("GET", host)), 403) << host;
  }
  rules.hosts = {"box.lan"};
  EXPECT_EQ(status(rules, request("GET", "Box.lan:1")), 200);
  rules.any_address = true;
  EXPECT_EQ(status(rules, request("GET", "10.0.0.1:5")), 200);
  EXPECT_EQ(status(rules, request("GET", "evil.example")), 403);
  rules.hosts = {"*"};
  EXPECT_EQ(status(rules, request("GET", "evil.example")), 200);
}

TEST(Access, Origin) {
  AccessRules rules;
  const std::string own = "127.0.0.1:11435";
  EXPECT_EQ(status(rules, request("POST", own, "http://127.0.0.1:11435")), 200);
  EXPECT_TRUE(origin_allowed(rules, request("POST", own, "http://127.0.0.1:11435")));
  for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1:3000",
                             "http://127.0.0.1.evil.example:11435", "chrome-extension://abc"}) {
    EXPECT_EQ(status(rules, request("POST", own, origin)), 403) << origin;
    EXPECT_EQ(status(rules, request("OPTIONS", own, origin)), 403) << origin;
    // Reading needs no refusal: without the header that allows it, the page cannot see the answer.
    EXPECT_EQ(status(rules, request("GET", own, origin)), 200) << origin;
    EXPECT_FALSE(origin_allowed(rules, request("GET", own, origin))) << origin;
  }
  EXPECT_FALSE(origin_allowed(rules, request("GET", own)));
  rules.origins = {"http://localhost:3000", "null"};
  EXPECT_EQ(status(rules, request("POST", own, "http://LOCALHOST:3000")), 200);
  EXPECT_EQ(status(rules, request("POST", own, "null")), 200);
  EXPECT_EQ(status(rules, request("POST", own, "https://localhost:3000")), 403);
  rules.origins = {"*"};
  EXPECT_EQ(status(rules, request("POST", own, "http://evil.example")), 200);
}

TEST(Access, ApiKey) {
  AccessRules rules;
  rules.api_keys = {"old", "secret"};
  Request r = request("POST", "localhost");
  EXPECT_EQ(status(rules, r), 401);
  r.authorization = "Bearer secret";
  EXPECT_EQ(status(rules, r), 200);
  r.authorization = "bearer secret";
  EXPECT_EQ(status(rules, r), 200);
  r.authorization = "Bearer secret2";
  EXPECT_EQ(status(rules, r), 401);
  r.authorization = "";
  r.x_api_key = "secret";
  EXPECT_EQ(status(rules, r), 200);
  r.authorization = "Bearer of-another-service";
  EXPECT_EQ(status(rules, r), 200);
  r.authorization = "";
  r.x_api_key = "old";
  EXPECT_EQ(status(rules, r), 200);
  r.x_api_key = "";
  r.path = "/health";
  EXPECT_EQ(status(rules, r), 200);
  r.path = "/page";
  EXPECT_EQ(status(rules, r), 401);
  rules.without_key = [](const Request& asked) { return asked.path == "/page"; };
  EXPECT_EQ(status(rules, r), 200);
  r.host = "evil.example";
  EXPECT_EQ(status(rules, r), 403);
  r.host = "localhost";
  // Without a key of ours, any is fine.
  rules.api_keys = {};
  r.path = "/v1/models";
  r.authorization = "Bearer whatever";
  EXPECT_EQ(status(rules, r), 200);
}

TEST(Access, ConstantTimeComparison) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abcabc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", ""));
}

}  // namespace
}  // namespace tempo9::server::http
