#include "server/errors.h"

#include <gtest/gtest.h>

#include "server/json_body.h"

namespace tempo9::server {
namespace {

TEST(Errors, ParamIsTheFieldInFront) {
  EXPECT_EQ(param_of("top_p: found 2, expected (0, 1]"), "top_p");
  EXPECT_EQ(param_of("messages[2].tool_calls[0].function.name: found null"),
            "messages[2].tool_calls[0].function.name");
  EXPECT_EQ(param_of("request body: found nothing"), "");
  EXPECT_EQ(param_of("no colon"), "");
  EXPECT_EQ(param_of(": x"), "");
}

TEST(Errors, OpenAiShape) {
  const auto response = openai_error(Error{ErrorCode::kInvalidArgument, "stop: found 1"});
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(
      response.body,
      R"({"error":{"message":"stop: found 1","type":"invalid_request_error","param":"stop","code":null}})");
}

TEST(Errors, StatusByCode) {
  EXPECT_EQ(openai_error(Error{ErrorCode::kUnsupported, "x"}).status, 501);
  EXPECT_EQ(openai_error(Error{ErrorCode::kInternal, "x"}).status, 500);
  const auto busy = openai_error(Error{ErrorCode::kResourceExhausted, "x"});
  EXPECT_EQ(busy.status, 503);
  ASSERT_EQ(busy.headers.size(), 1u);
  EXPECT_EQ(busy.headers[0].first, "Retry-After");
}

TEST(Errors, ContextOverflowHasItsCode) {
  const auto response = openai_error(
      Error{ErrorCode::kInvalidArgument, "This model's maximum context length is 5 tokens."});
  const Json error = Json::parse(response.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
}

TEST(Errors, AnthropicShape) {
  EXPECT_EQ(
      anthropic_error(Error{ErrorCode::kInvalidArgument, "system: found 1"}).body,
      R"({"type":"error","error":{"type":"invalid_request_error","message":"system: found 1"},"request_id":null})");
  // The types that the SDK knows (anthropic.types.shared).
  const auto type = [](int status) {
    const auto response = error_for_path("/v1/messages", status, "x", "code");
    EXPECT_EQ(response.status, status);
    return Json::parse(response.body)["error"]["type"].get<std::string>();
  };
  EXPECT_EQ(type(401), "authentication_error");
  EXPECT_EQ(type(403), "permission_error");
  EXPECT_EQ(type(404), "not_found_error");
  EXPECT_EQ(type(405), "invalid_request_error");
  EXPECT_EQ(type(413), "request_too_large");
  EXPECT_EQ(type(500), "api_error");
  EXPECT_EQ(type(501), "api_error");
  EXPECT_EQ(type(503), "overloaded_error");
}

TEST(Errors, OllamaShape) {
  EXPECT_EQ(error_for_path("/api/chat", 404, "no", "code").body, R"({"error":"no"})");
  EXPECT_EQ(error_for_path("/api/chat", Error{ErrorCode::kUnsupported, "x"}).status, 501);
}

TEST(Errors, WhatCannotBeDoneIsNotTriedAgain) {
  const auto response = anthropic_error(Error{ErrorCode::kUnsupported, "x"});
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0], std::pair(std::string("x-should-retry"), std::string("false")));
}

TEST(Errors, MessagesMayHoldAnyBytes) {
  EXPECT_TRUE(Json::accept(openai_error(400, "bad \xFF byte", "x").body));
}

}  // namespace
}  // namespace tempo9::server
