#include "server/console.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace tempo9::server {
namespace {

constexpr const char* kBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

http::Request get(std::string path, std::string accept = "*/*") {
  return {.method = "GET", .path = std::move(path), .accept = std::move(accept)};
}

std::map<std::string, std::string> headers(const http::Response& response) {
  return {response.headers.begin(), response.headers.end()};
}

TEST(Console, WhoMeansIt) {
  EXPECT_TRUE(is_console(get("/", kBrowser)));
  EXPECT_FALSE(is_console(get("/")));
  EXPECT_FALSE(is_console(get("/", "application/json, text/plain")));
  for (const char* path : {"/console", "/console/", "/console/app.js", "/console/nothing"}) {
    EXPECT_TRUE(is_console(get(path))) << path;
  }
  for (const char* path : {"/consoles", "/v1/models", "/health", ""}) {
    EXPECT_FALSE(is_console(get(path, kBrowser))) << path;
  }
}

TEST(Console, EachFileHasItsTypeAndTag) {
  const std::map<std::string, std::string> types = {{"html", "text/html; charset=utf-8"},
                                                    {"css", "text/css; charset=utf-8"},
                                                    {"js", "text/javascript; charset=utf-8"},
                                                    {"svg", "image/svg+xml"},
                                                    {"md", "text/markdown; charset=utf-8"}};
  std::set<std::string_view> paths;
  ASSERT_GE(console_files().size(), 10u);
  for (const ConsoleFile& file : console_files()) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    const http::Response response = console_response(get(std::string(file.path)));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.content_type,
              types.at(std::string(file.path.substr(file.path.rfind('.') + 1))));
    EXPECT_FALSE(response.body.empty()) << file.path;
    EXPECT_EQ(response.body, file.body);
    EXPECT_EQ(headers(response).at("ETag"), file.etag);
  }
}

TEST(Console, ThePage) {
  const http::Response page = console_response(get("/", kBrowser));
  EXPECT_TRUE(page.body.starts_with("<!doctype html>"));
  EXPECT_EQ(page.body, console_response(get("/console/")).body);
  EXPECT_EQ(page.body, console_response(get("/console")).body);
  const std::string policy = headers(page).at("Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; "));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(headers(page).at("X-Content-Type-Options"), "nosniff");
}

TEST(Console, WhatTheBrowserHasIsNotSentAgain) {
  http::Request request = get("/console/app.js");
  const std::string etag = headers(console_response(request)).at("ETag");
  for (const std::string& known : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
    request.if_none_match = known;
    const http::Response response = console_response(request);
    EXPECT_EQ(response.status, 304) << known;
    EXPECT_EQ(response.body, "");
    EXPECT_EQ(headers(response).at("ETag"), etag);
  }
  request.if_none_match = "\"other\"";
  EXPECT_EQ(console_response(request).status, 200);
}

TEST(Console, NoOtherFiles) {
  for (const char* path : {"/console/nothing.js", "/console/../routes.cc", "/console/app.js/",
                           "/console/%61pp.js", "/console//app.js"}) {
    EXPECT_EQ(console_response(get(path, kBrowser)).status, 404) << path;
  }
}

}  // namespace
}  // namespace tempo9::server
