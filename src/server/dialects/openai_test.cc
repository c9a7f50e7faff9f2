// Chat and text completions over a fake engine: what is asked of the engine, and what goes back.
#include "server/dialects/openai.h"

#include <gtest/gtest.h>

#include <sstream>

#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server::openai {
namespace {

using engine::FinishReason;
using testing::body;
using testing::events;
using testing::FakeEngine;
using testing::FakeExchange;

constexpr const char* kHi = R"("messages": [{"role": "user", "content": "hi"}])";

class OpenAiTest : public ::testing::Test {
 protected:
  ~OpenAiTest() override {
    for (const auto& exchange : exchanges_) exchange->hang_up();
  }
  std::shared_ptr<FakeExchange> post(const std::string& path, const std::string& fields) {
    return exchanges_.emplace_back(FakeExchange::post_json(path, "{" + fields + "}"));
  }
  std::shared_ptr<FakeExchange> chat(const std::string& fields) {
    auto exchange = post("/v1/chat/completions", fields);
    chat_completions(service_, exchange);
    return exchange;
  }
  std::shared_ptr<FakeExchange> complete(const std::string& fields) {
    auto exchange = post("/v1/completions", fields);
    completions(service_, exchange);
    return exchange;
  }
  static std::string error_param(const FakeExchange& exchange) {
    if (!exchange.response || exchange.response->status != 400) return "no 400";
    const Json param = body(exchange)["error"]["param"];
    return param.is_string() ? param.get<std::string>() : "null";
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::vector<std::shared_ptr<FakeExchange>> exchanges_;
};

TEST_F(OpenAiTest, WholeChatReply) {
  auto exchange = chat(std::string(kHi) + R"(, "model": "any/name")");
  ASSERT_EQ(engine_.submitted.size(), 1u);
  EXPECT_TRUE(engine_.submitted[0].request.spell_control);
  EXPECT_EQ(engine_.submitted[0].request.match_text, "hi");
  engine_.say(0, "hel");
  engine_.say(0, "lo");
  engine_.end(0, FinishReason::kStop);
  ASSERT_TRUE(exchange->run());
  const Json reply = body(*exchange);
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_EQ(reply["model"], "any/name");
  EXPECT_EQ(reply["choices"][0]["message"]["content"], "hello");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(reply["usage"]["total_tokens"], 8);
  EXPECT_EQ(reply["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
}

TEST_F(OpenAiTest, StreamedChatReply) {
  auto exchange =
      chat(std::string(kHi) + R"(, "stream": true, "stream_options": {"include_usage": true})");
  engine_.say(0, "hel");
  engine_.say(0, "lo");
  engine_.end(0, FinishReason::kLength);
  ASSERT_TRUE(exchange->run());
  const auto chunks = events(*exchange);
  ASSERT_EQ(chunks.size(), 5u);
  EXPECT_EQ(chunks[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(chunks[1]["choices"][0]["delta"]["content"], "hel");
  EXPECT_EQ(chunks[2]["choices"][0]["delta"]["content"], "lo");
  EXPECT_TRUE(chunks[2]["usage"].is_null());
  EXPECT_EQ(chunks[3]["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(chunks[4]["choices"].empty());
  EXPECT_EQ(chunks[4]["usage"]["completion_tokens"], 3);
  for (const Json& chunk : chunks) EXPECT_EQ(chunk["id"], chunks[0]["id"]);
  EXPECT_TRUE(exchange->stream.ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(exchange->stream.find("[DONE]"), exchange->stream.rfind("[DONE]"));
  EXPECT_TRUE(exchange->finished);
}

TEST_F(OpenAiTest, SamplingReachesTheEngine) {
  chat(std::string(kHi) +
       R"(, "temperature": 0.25, "top_p": 0.5, "top_k": 7, "min_p": 0.125, "seed": -3,
    "frequency_penalty": 0.5, "presence_penalty": -0.5, "repetition_penalty": 1.5, "logit_bias": {"65": -100},
    "stop": ["a", "b"], "max_tokens": 5, "max_completion_tokens": 9, "ignore_eos": true, "logprobs": true,
    "top_logprobs": 3, "n": 2, "prompt_cache_key": "k")");
  ASSERT_EQ(engine_.submitted.size(), 2u);
  const engine::GenerateRequest& request = engine_.submitted[1].request;
  EXPECT_EQ(request.choice, 1u);
  EXPECT_NE(request.session, 0u);
  EXPECT_EQ(request.sampling.temperature, 0.25f);
  EXPECT_EQ(request.sampling.top_p, 0.5f);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.min_p, 0.125f);
  EXPECT_EQ(request.sampling.seed, static_cast<uint64_t>(-3));
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5f);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
  EXPECT_EQ(request.sampling.logit_bias[0], (std::pair<int32_t, float>(65, -100.0f)));
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.max_tokens, 9u);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.n_logprobs, 3u);
}

TEST_F(OpenAiTest, LimitsAreClampedAndMinusOneIsNone) {
  chat(std::string(kHi) + R"(, "max_tokens": 99999999999999)");
  EXPECT_EQ(engine_.submitted[0].request.max_tokens, UINT32_MAX);
  chat(std::string(kHi) + R"(, "max_tokens": -1)");
  EXPECT_FALSE(engine_.submitted[1].request.max_tokens.has_value());
  complete(R"("prompt": "x")");
  EXPECT_EQ(engine_.submitted[2].request.max_tokens, 16u);
}

TEST_F(OpenAiTest, WrongFieldsAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("temperature": "hot")", "temperature"},
      {R"("stop": 5)", "stop"},
      {R"("stop": ["a", 1])", "stop[1]"},
      {R"("stop": "")", "stop"},
      {R"("n": 0)", "n"},
      {R"("n": 1000)", "n"},
      {R"("top_logprobs": 5)", "top_logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs"},
      {R"("max_tokens": "5")", "max_tokens"},
      {R"("max_tokens": 1.5)", "max_tokens"},
      {R"("stream": "yes")", "stream"},
      {R"("stream_options": {"include_usage": 1})", "stream_options.include_usage"},
      {R"("logit_bias": {"x": 1})", "logit_bias"},
      {R"("logit_bias": {"65": 101})", "logit_bias.65"},
      {R"("logit_bias": [])", "logit_bias"},
      {R"("seed": "x")", "seed"},
      {R"("model": 3)", "model"},
      {R"("response_format": "json")", "response_format"},
      {R"("chat_template_kwargs": [])", "chat_template_kwargs"},
  };
  for (const auto& [field, param] : cases) {
    EXPECT_EQ(error_param(*chat(std::string(kHi) + ", " + field)), param) << field;
  }
  EXPECT_EQ(error_param(*chat("")), "messages");
  EXPECT_TRUE(engine_.submitted.empty());
}

TEST_F(OpenAiTest, NullsAndUnknownFieldsPass) {
  chat(std::string(kHi) +
       R"(, "temperature": null, "stop": null, "n": null, "tools": null, "tool_choice": null,
    "logprobs": null, "stream": null, "stream_options": null, "response_format": null, "store": false,
    "metadata": {"a": 1}, "frobnicate": [[]])");
  EXPECT_EQ(engine_.submitted.size(), 1u);
}

TEST_F(OpenAiTest, WhatIsNotThereYetIsA501ByName) {
  for (const char* field : {R"("min_tokens": 3)", R"("functions": [{}])"}) {
    auto exchange = chat(std::string(kHi) + ", " + field);
    ASSERT_TRUE(exchange->response) << field;
    EXPECT_EQ(exchange->response->status, 501) << field;
  }
  EXPECT_TRUE(engine_.submitted.empty());
  chat(std::string(kHi) + R"(, "response_format": {"type": "text"}, "min_tokens": 0)");
  complete(R"("prompt": "a", "suffix": "", "best_of": 1)");
  EXPECT_EQ(engine_.submitted.size(), 2u);
}

TEST_F(OpenAiTest, SuffixFillsInTheMiddle) {
  EXPECT_EQ(error_param(*complete(R"("prompt": "a", "suffix": "b")")), "suffix");  // no such tokens
  engine_.add_control_tokens({"<fim_prefix>", "<fim_suffix>", "<fim_middle>"});
  service_ = Service::create(engine_, {}).value();
  EXPECT_EQ(error_param(*complete(R"("prompt": [97], "suffix": "b")")), "suffix");
  EXPECT_EQ(error_param(*complete(R"("prompt": "a", "suffix": 5)")), "suffix");
  EXPECT_EQ(error_param(*complete(R"("prompt": "a", "suffix": "b", "echo": true, "logprobs": 1)")),
            "suffix");
  EXPECT_TRUE(engine_.submitted.empty());
  auto exchange = complete(R"("prompt": ["a", "c"], "suffix": "b", "echo": true)");
  ASSERT_EQ(engine_.submitted.size(), 2u);
  EXPECT_EQ(engine_.tokenizer().decode(engine_.submitted[1].request.prompt, true),
            "<fim_prefix>c<fim_suffix>b<fim_middle>");
  for (const size_t id : {0u, 1u}) {
    engine_.say(id, "x");
    engine_.end(id, FinishReason::kStop);
  }
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(body(*exchange)["choices"][1]["text"], "cx");
}

TEST_F(OpenAiTest, ContextOverflowHasBothNumbers) {
  auto exchange = complete(R"("prompt": ")" + std::string(1500, 'x') + "\"");
  const Json error = body(*exchange)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  const std::string message = error["message"];
  EXPECT_NE(message.find("maximum context length is 1000 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("1500 tokens"), std::string::npos) << message;
  EXPECT_EQ(complete(R"("prompt": ")" + std::string(1000, 'x') + "\"")->response->status, 400);
  complete(R"("max_tokens": 0, "prompt": ")" + std::string(1000, 'x') + "\"");
  EXPECT_EQ(engine_.submitted.size(), 1u);
}

TEST_F(OpenAiTest, PromptForms) {
  complete(R"("prompt": ["a", "bc"])");
  complete(R"("prompt": [65, 66])");
  complete(R"("prompt": [[65], [66, 67]], "n": 2)");
  ASSERT_EQ(engine_.submitted.size(), 7u);
  EXPECT_EQ(engine_.submitted[1].request.prompt, (std::vector<TokenId>{'b', 'c'}));
  EXPECT_EQ(engine_.submitted[2].request.prompt, (std::vector<TokenId>{65, 66}));
  EXPECT_EQ(engine_.submitted[6].request.prompt, (std::vector<TokenId>{66, 67}));
  EXPECT_EQ(engine_.submitted[6].request.choice, 1u);
  for (const char* prompt : {"[]", "[1, \"a\"]", "[\"a\", 1]", "{}", "5", "[[]]", "[-1]",
                             "[999999]", "\"\"", "[true]", "null"}) {
    auto exchange = complete(std::string(R"("prompt": )") + prompt);
    ASSERT_TRUE(exchange->response) << prompt;
    EXPECT_EQ(exchange->response->status, 400) << prompt;
  }
}

engine::TokenInfo info(TokenId id, std::optional<float> logprob,
                       std::vector<engine::TokenLogprob> top = {}) {
  return {.id = id, .logprob = logprob, .top = std::move(top)};
}

TEST_F(OpenAiTest, EchoHasOneLogprobEntryPerToken) {
  auto exchange = complete(
      R"("prompt": "ab", "echo": true, "logprobs": 1, "max_tokens": 1, "return_token_ids": true)");
  EXPECT_TRUE(engine_.submitted[0].request.prompt_logprobs);
  engine::Event event;
  event.prompt_tokens = {info('a', std::nullopt), info('b', -0.5f, {{'b', -0.5f}})};
  event.text = "c";
  event.tokens = {info('c', -std::numeric_limits<float>::infinity(), {{'d', -0.25f}})};
  event.finish = engine::Event::Finish{.reason = FinishReason::kLength};
  engine_.submitted[0].sink(std::move(event));
  ASSERT_TRUE(exchange->run());
  const Json choice = body(*exchange)["choices"][0];
  EXPECT_EQ(choice["text"], "abc");
  const Json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json({"a", "b", "c"}));
  EXPECT_EQ(logprobs["token_logprobs"], Json({nullptr, -0.5, -9999.0}));
  EXPECT_EQ(logprobs["top_logprobs"],
            Json({nullptr, {{"b", -0.5}}, {{"d", -0.25}, {"c", -9999.0}}}));
  EXPECT_EQ(logprobs["text_offset"], Json({0, 1, 2}));
  EXPECT_EQ(choice["token_ids"], Json({'c'}));
  EXPECT_EQ(choice["prompt_token_ids"], Json({'a', 'b'}));
}

TEST_F(OpenAiTest, TokensAsIds) {
  auto exchange = complete(R"("prompt": "a", "logprobs": 1, "return_tokens_as_token_ids": true)");
  engine::Event event;
  event.tokens = {info('c', -0.5f, {{'c', -0.5f}})};
  event.text = "c";
  event.finish = engine::Event::Finish{.reason = FinishReason::kLength};
  engine_.submitted[0].sink(std::move(event));
  ASSERT_TRUE(exchange->run());
  const Json logprobs = body(*exchange)["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json({"token_id:99"}));
  EXPECT_EQ(logprobs["top_logprobs"], Json::array({{{"token_id:99", -0.5}}}));
}

TEST_F(OpenAiTest, PartsOfCharactersStayApartInLogprobs) {
  auto exchange = complete(R"("prompt": "a", "logprobs": 2)");
  engine::Event event;
  event.tokens = {info(0xC3, -1.0f, {{0xC3, -1.0f}, {0xC2, -2.0f}}), info(0xA9, -1.0f)};
  event.text = "\xC3\xA9";
  event.finish = engine::Event::Finish{.reason = FinishReason::kLength};
  engine_.submitted[0].sink(std::move(event));
  ASSERT_TRUE(exchange->run());
  const Json logprobs = body(*exchange)["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["top_logprobs"][0].size(), 2u);
  EXPECT_EQ(logprobs["text_offset"], Json({0, 1}));
}

TEST_F(OpenAiTest, BestOfGivesTheLikeliestPerToken) {
  auto exchange = complete(R"("prompt": ["p", "q"], "n": 2, "best_of": 3)");
  ASSERT_EQ(engine_.submitted.size(), 6u);
  EXPECT_EQ(engine_.submitted[0].request.n_logprobs, 0u);
  // Means of the first prompt: -1.5, -2, -0.5.
  const std::vector<std::vector<float>> logprobs = {{-1, -2}, {-2}, {-0.5f, -0.5f, -0.5f},
                                                    {-1},     {-2}, {-3}};
  for (size_t i = 0; i < logprobs.size(); ++i) {
    engine::Event event;
    event.text = std::string(1, static_cast<char>('a' + i));
    for (const float logprob : logprobs[i]) event.tokens.push_back(info('x', logprob));
    event.finish = engine::Event::Finish{.reason = FinishReason::kLength};
    event.usage = {.prompt_tokens = 1, .completion_tokens = 2};
    engine_.submitted[i].sink(std::move(event));
  }
  ASSERT_TRUE(exchange->run());
  const Json reply = body(*exchange);
  ASSERT_EQ(reply["choices"].size(), 4u);
  const char* expected[] = {"c", "a", "d", "e"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(reply["choices"][i]["text"], expected[i]);
    EXPECT_EQ(reply["choices"][i]["index"], i);
    EXPECT_TRUE(reply["choices"][i]["logprobs"].is_null());
  }
  EXPECT_EQ(reply["usage"]["completion_tokens"], 12) << "what was written is counted";
  EXPECT_EQ(error_param(*complete(R"("prompt": "a", "n": 3, "best_of": 2)")), "best_of");
  EXPECT_EQ(error_param(*complete(R"("prompt": "a", "best_of": 2, "stream": true)")), "best_of");
}

TEST_F(OpenAiTest, RolesAndPrefills) {
  EXPECT_EQ(error_param(*chat(R"("messages": [{"role": "robot", "content": "x"}])")),
            "messages[0].role");
  const std::string prefill =
      R"("messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "I sa")";
  chat(prefill + R"(}], "continue_final_message": true)");
  chat(prefill + R"(, "prefix": true}])");
  ASSERT_EQ(engine_.submitted.size(), 2u);
  for (const auto& submitted : engine_.submitted) {
    EXPECT_TRUE(service_->tokenizer().decode(submitted.request.prompt, true).ends_with("I sa"));
  }
  EXPECT_EQ(error_param(*chat(std::string(kHi) + R"(, "continue_final_message": true)")),
            "continue_final_message");
  EXPECT_EQ(error_param(*chat(std::string(kHi) + R"(, "reasoning_effort": "colossal")")),
            "reasoning_effort");
}

TEST_F(OpenAiTest, ThinkingTokensAreTold) {
  auto exchange = chat(kHi);
  for (const std::string text : {"<think>ab", "</think>c"}) {
    engine::Event event;
    event.text = text;
    for (const char c : text)
      event.tokens.push_back(info(static_cast<unsigned char>(c), std::nullopt));
    engine_.submitted[0].sink(std::move(event));
  }
  engine_.end(0, FinishReason::kStop, 5, 18);
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(body(*exchange)["usage"]["completion_tokens_details"]["reasoning_tokens"], 9);
}

TEST_F(OpenAiTest, ToolChoiceIsChecked) {
  const std::string tools =
      R"("tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}], )";
  EXPECT_EQ(error_param(*chat(std::string(kHi) + R"(, "tool_choice": "required")")), "tool_choice");
  EXPECT_EQ(
      error_param(*chat(tools + kHi +
                        R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})")),
      "tool_choice");
  EXPECT_EQ(error_param(*chat(tools + kHi + R"(, "tool_choice": "sometimes")")), "tool_choice");
  chat(tools + kHi + R"(, "tool_choice": "none")");
  EXPECT_EQ(engine_.submitted.size(), 1u);
}

TEST_F(OpenAiTest, PicturesAreRefusedInTheNewestUserMessageOnly) {
  const std::string picture =
      R"([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}])";
  auto refused = chat(R"("messages": [{"role": "user", "content": )" + picture + "}]");
  EXPECT_EQ(refused->response->status, 501);
  auto taken =
      chat(R"("messages": [{"role": "user", "content": )" + picture +
           R"(}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "hi"}])");
  EXPECT_FALSE(taken->response) << taken->response->body;
}

}  // namespace
}  // namespace tempo9::server::openai
