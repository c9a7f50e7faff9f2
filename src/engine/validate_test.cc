#include "engine/validate.h"

#include <gtest/gtest.h>

#include <functional>

namespace tempo9::engine {
namespace {

TEST(Validate, WhatCannotWorkIsNamed) {
  const std::pair<std::function<void(GenerateRequest&)>, const char*> cases[] = {
      {[](auto& r) { r.prompt.clear(); }, "prompt: found no tokens"},
      {[](auto& r) { r.prompt.assign(11, 1); },
       "maximum context length is 10 tokens. However, your prompt has 11 tokens"},
      {[](auto& r) { r.prompt = {100}; }, "prompt: found token id 100, expected 0 to 99"},
      {[](auto& r) { r.prompt = {-1}; }, "prompt: found token id -1"},
      {[](auto& r) { r.stop_token_ids = {100}; }, "stop_token_ids: found token id 100"},
      {[](auto& r) { r.sampling.logit_bias = {{100, 1.0f}}; }, "logit_bias: found token id 100"},
      {[](auto& r) { r.sampling.top_p = -0.5f; }, "top_p: found -0.5"},
      {[](auto& r) { r.stop = {"a", ""}; }, "stop: found an empty string"},
      {[](auto& r) { r.n_logprobs = 21; }, "logprobs: found 21, expected 0 to 20"},
  };
  for (const auto& [spoil, text] : cases) {
    GenerateRequest request;
    request.prompt = {1, 2};
    EXPECT_TRUE(validate_request(request, 10, 100));
    spoil(request);
    const Status status = validate_request(request, 10, 100);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(status.error().message.find(text), std::string::npos) << status.error().message;
  }
}

TEST(Validate, AnEmbeddingModelWritesNoText) {
  GenerateRequest request;
  request.prompt = {1, 2};
  ModelInfo info;
  info.name = "embedder";
  info.max_length = 10;
  EXPECT_TRUE(validate_request(request, info, 100));
  info.writes_text = false;
  const Status status = validate_request(request, info, 100);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(status.error().message.find("embedder"), std::string::npos);
  request.pooling = Pooling::kMean;
  EXPECT_TRUE(validate_request(request, info, 100));
}

TEST(Validate, APromptThatFillsTheContextIsFine) {
  GenerateRequest request;
  request.prompt.assign(10, 99);
  request.n_logprobs = 20;
  EXPECT_TRUE(validate_request(request, 10, 100));
}

}  // namespace
}  // namespace tempo9::engine
