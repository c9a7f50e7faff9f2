// The route table, and the routes that need no generation.
#include "server/routes.h"

#include <gtest/gtest.h>

#include "server/json_body.h"
#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server {
namespace {

using testing::FakeEngine;
using testing::FakeExchange;

class RoutesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    router_.set_ready(
        Service::create(engine_, {.name = "mine", .template_source = {}, .format = {}, .log = {}})
            .value());
  }

  http::Response ask(std::string method, std::string path, std::string body = "",
                     std::string origin = "") {
    auto exchange = std::make_shared<FakeExchange>(http::Request{.method = std::move(method),
                                                                 .path = std::move(path),
                                                                 .body = std::move(body),
                                                                 .origin = std::move(origin)});
    router_.handle(exchange);
    return exchange->response.value_or(http::Response{.status = 0});
  }
  Json json(const http::Response& response) { return Json::parse(response.body); }

  FakeEngine engine_;
  Router router_;
};

TEST_F(RoutesTest, UnknownPathsAndMethods) {
  EXPECT_EQ(ask("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(json(ask("POST", "/v1"))["error"]["code"], "unknown_route");
  const auto message = [&](const char* path) {
    return json(ask("POST", path))["error"]["message"].get<std::string>();
  };
  EXPECT_TRUE(message("/v1/v1/messages").ends_with("did you mean /v1/messages?"));
  EXPECT_TRUE(message("/chat/completions").ends_with("did you mean /v1/chat/completions?"));
  EXPECT_NE(message("/nothing").find("there are /health, /console, /v1/chat/completions, "),
            std::string::npos);
  EXPECT_EQ(ask("HEAD", "/").status, 200);
  const auto wrong = ask("GET", "/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.back(), (std::pair<std::string, std::string>("Allow", "POST")));
  EXPECT_EQ(ask("DELETE", "/v1/models").status, 405);
  EXPECT_EQ(ask("POST", "/health").status, 405);
}

TEST_F(RoutesTest, ModelsServeBothSdks) {
  for (const char* path : {"/v1/models", "/v1/models/"}) {
    const Json body = json(ask("GET", path));
    EXPECT_EQ(body["object"], "list");
    EXPECT_EQ(body["data"][0]["id"], "mine");
    EXPECT_EQ(body["data"][0]["object"], "model");
    EXPECT_EQ(body["data"][0]["type"], "model");
    EXPECT_EQ(body["has_more"], false);
    EXPECT_EQ(body["first_id"], "mine");
  }
  EXPECT_EQ(json(ask("GET", "/v1/models/a%2Fb:c"))["id"], "a/b:c");
  EXPECT_EQ(json(ask("GET", "/v1/models/a/b"))["id"], "a/b");
  EXPECT_EQ(ask("HEAD", "/v1/models").status, 200);
}

TEST_F(RoutesTest, HealthFollowsTheServer) {
  EXPECT_EQ(ask("GET", "/health").status, 200);
  Router loading;
  auto exchange =
      std::make_shared<FakeExchange>(http::Request{.method = "GET", .path = "/health", .body = ""});
  loading.handle(exchange);
  EXPECT_EQ(exchange->response->status, 503);
  auto early = FakeExchange::post_json("/v1/completions", "{}");
  loading.handle(early);
  EXPECT_EQ(early->response->status, 503);
  router_.set_draining();
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("GET", "/v1/models").status, 503);
}

TEST_F(RoutesTest, TheConsoleIsThereFromTheStart) {
  Router loading;
  for (const char* path : {"/console/", "/console/app.js"}) {
    auto early = std::make_shared<FakeExchange>(http::Request{.method = "GET", .path = path});
    loading.handle(early);
    EXPECT_EQ(early->response->status, 200) << path;
  }
  const auto wrong = ask("POST", "/console/app.js");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.back(), (std::pair<std::string, std::string>("Allow", "GET, HEAD")));
  EXPECT_TRUE(ask("GET", "/").content_type.starts_with("text/plain")) << "not for a browser";
}

TEST_F(RoutesTest, Preflight) {
  const auto response = ask("OPTIONS", "/v1/chat/completions", "", "http://localhost:3000");
  EXPECT_EQ(response.status, 204);
  EXPECT_EQ(response.body, "");
}

TEST_F(RoutesTest, Tokenize) {
  const Json plain = json(ask("POST", "/tokenize", R"({"prompt": "<|im_end|>"})"));
  EXPECT_EQ(plain["count"], 10);
  EXPECT_EQ(plain["tokens"].size(), 10u);
  EXPECT_EQ(plain["max_model_len"], 1000);
  const Json parsed =
      json(ask("POST", "/tokenize", R"({"content": "<|im_end|>", "parse_special": true})"));
  EXPECT_EQ(parsed["count"], 1);
  EXPECT_EQ(json(ask("POST", "/tokenize", R"({"prompt": ""})"))["count"], 0);
  EXPECT_EQ(json(ask("POST", "/tokenize", R"({"prompt": 5})"))["error"]["param"], "prompt");
  EXPECT_EQ(ask("POST", "/tokenize", "{}").status, 400);
  EXPECT_EQ(ask("POST", "/tokenize", R"({"prompt": "a", "parse_special": 1})").status, 400);
}

TEST_F(RoutesTest, Detokenize) {
  const Json text = json(ask("POST", "/detokenize", R"({"tokens": [104, 105]})"));
  EXPECT_EQ(text["prompt"], "hi");
  EXPECT_EQ(text["content"], "hi");
  EXPECT_EQ(json(ask("POST", "/detokenize", R"({"tokens": [104, -1]})"))["error"]["param"],
            "tokens[1]");
  EXPECT_EQ(ask("POST", "/detokenize", R"({"tokens": "hi"})").status, 400);
  EXPECT_EQ(ask("POST", "/detokenize", R"({"tokens": [99999999999]})").status, 400);
}

TEST_F(RoutesTest, ApplyTemplate) {
  const Json shown =
      json(ask("POST", "/apply-template", R"({"messages": [{"role": "user", "content": "hi"}]})"));
  EXPECT_EQ(shown["prompt"], "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  const Json bare = json(
      ask("POST", "/apply-template",
          R"({"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": false})"));
  EXPECT_EQ(bare["prompt"], "<|im_start|>user\nhi<|im_end|>\n");
  EXPECT_EQ(ask("POST", "/apply-template", "{}").status, 400);
}

TEST_F(RoutesTest, MetricsArePrometheusText) {
  engine_.stats_.kv_bytes = 4096;
  engine_.info_.memory_limit_bytes = 8192;
  const auto response = ask("GET", "/metrics");
  EXPECT_TRUE(response.content_type.starts_with("text/plain"));
  EXPECT_NE(response.body.find("\nvllm:num_requests_running{engine=\"0\",model_name=\"mine\"} 0\n"),
            std::string::npos)
      << response.body;
  for (const char* line : {"tempo9:kv_cache_limit_bytes{engine=\"0\",model_name=\"mine\"} 4096\n",
                           "tempo9:memory_limit_bytes{engine=\"0\",model_name=\"mine\"} 8192\n"}) {
    EXPECT_NE(response.body.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace tempo9::server
