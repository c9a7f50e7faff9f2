#include "server/http/url.h"

#include <gtest/gtest.h>

namespace tempo9::server::http {
namespace {

TEST(Url, PathLosesQueryAndHost) {
  EXPECT_EQ(target_path("/v1/models?limit=1000"), "/v1/models");
  EXPECT_EQ(target_path("/v1/models#x"), "/v1/models");
  EXPECT_EQ(target_path("/?"), "/");
  EXPECT_EQ(target_path("http://localhost:1/health?x=http://y"), "/health");
  EXPECT_EQ(target_path("http://localhost"), "/");
  EXPECT_EQ(target_path("/a?b=http://c/d"), "/a");
  EXPECT_EQ(target_path(""), "");
  EXPECT_EQ(target_query("/v1/models?limit=1000#x?y"), "limit=1000");
  EXPECT_EQ(target_query("http://localhost/a?b=http://c?d"), "b=http://c?d");
  EXPECT_EQ(target_query("/v1/models#?x"), "");
  using Fields = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(query_fields("a=1&b%5B%5D=x+y%2B&&c&=d&e=f=g"),
            (Fields{{"a", "1"}, {"b[]", "x y+"}, {"c", ""}, {"", "d"}, {"e", "f=g"}}));
  EXPECT_EQ(query_fields(""), Fields());
}

TEST(Url, HostNames) {
  EXPECT_EQ(host_name("LocalHost:11435"), "localhost");
  EXPECT_EQ(host_name("[::1]:11435"), "[::1]");
  EXPECT_EQ(host_name("localhost."), "localhost");
  EXPECT_EQ(host_name("evil.example:80"), "evil.example");
}

TEST(Url, Origins) {
  EXPECT_EQ(origin_authority("http://Localhost:3000"), "localhost:3000");
  EXPECT_EQ(origin_authority("http://localhost:80"), "localhost");
  EXPECT_EQ(origin_authority("https://a.b:443/"), "a.b");
  EXPECT_EQ(origin_authority("null"), "");
  EXPECT_EQ(origin_authority("file://"), "");
}

TEST(Url, AddressLiterals) {
  EXPECT_TRUE(is_ip_literal("10.0.0.1"));
  EXPECT_TRUE(is_ip_literal("[fe80::1]"));
  EXPECT_FALSE(is_ip_literal("a10.0.0.1"));
  EXPECT_FALSE(is_ip_literal(""));
}

}  // namespace
}  // namespace tempo9::server::http
