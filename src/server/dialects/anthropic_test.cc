// The Messages API over a fake engine: what is asked of the engine, and what goes back.
#include "server/dialects/anthropic.h"

#include <gtest/gtest.h>

#include <sstream>

#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server::anthropic {
namespace {

using engine::FinishReason;
using testing::body;
using testing::FakeEngine;
using testing::FakeExchange;

constexpr const char* kHi = R"("max_tokens": 100, "messages": [{"role": "user", "content": "hi"}])";
constexpr const char* kTools =
    R"(, "tools": [{"name": "ls", "input_schema": {"type": "object"}}], "thinking": {"type": "adaptive"})";
constexpr const char* kCalls =
    "<think>hm</think>I look.\n<tool_call>{\"name\": \"ls\", \"arguments\": {\"d\": 1}}</tool_call>"
    "\n<tool_call>{\"name\": \"ls\"}</tool_call>";

class AnthropicTest : public ::testing::Test {
 protected:
  ~AnthropicTest() override {
    for (const auto& exchange : exchanges_) exchange->hang_up();
  }
  std::shared_ptr<FakeExchange> post(const std::string& fields) {
    auto exchange =
        exchanges_.emplace_back(FakeExchange::post_json("/v1/messages", "{" + fields + "}"));
    messages(service_, exchange);
    return exchange;
  }
  Json count(const std::string& fields) {
    auto exchange = FakeExchange::post_json("/v1/messages/count_tokens", "{" + fields + "}");
    count_tokens(service_, exchange);
    return Json::parse(exchange->response.value().body);
  }
  // The model says text, in the form of Hermes, and ends.
  void play(const std::string& text, engine::Event::Finish finish = {}) {
    engine::Event event;
    event.text = text;
    event.format = "hermes";
    event.finish = std::move(finish);
    event.usage = {.prompt_tokens = 50, .cached_tokens = 32, .completion_tokens = 7};
    engine_.submitted.back().sink(std::move(event));
  }
  std::string error_of(const std::string& fields) {
    auto exchange = post(fields);
    if (!exchange->response) return "accepted";
    const Json json = body(*exchange);
    EXPECT_EQ(json["type"], "error");
    return fmt::format("{} {} {}", exchange->response->status,
                       json["error"]["type"].get<std::string>(),
                       json["error"]["message"].get<std::string>());
  }
  static std::vector<Json> events(const FakeExchange& exchange) {
    std::vector<Json> out;
    std::string name;
    std::istringstream lines(exchange.stream);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("event: ")) name = line.substr(7);
      if (!line.starts_with("data: ")) continue;
      out.push_back(Json::parse(line.substr(6)));
      EXPECT_EQ(out.back()["type"], name);
    }
    return out;
  }
  // The events' types, each with its index or kind.
  static std::string outline(const FakeExchange& exchange) {
    std::string out;
    for (const Json& event : events(exchange)) {
      out += event["type"].get<std::string>();
      if (event.contains("index")) out += fmt::format(" {}", event["index"].get<int>());
      for (const char* key : {"content_block", "delta"}) {
        if (event.contains(key) && event[key].contains("type"))
          out += " " + event[key]["type"].get<std::string>();
      }
      out += "\n";
    }
    return out;
  }
  std::string prompt() const {
    return service_->tokenizer().decode(engine_.submitted.back().request.prompt, true);
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::vector<std::shared_ptr<FakeExchange>> exchanges_;
};

TEST_F(AnthropicTest, WholeReply) {
  auto exchange = post(std::string(kHi) + kTools + R"(, "model": "any")");
  play(kCalls, {.reason = FinishReason::kStop});
  ASSERT_TRUE(exchange->run());
  const Json reply = body(*exchange);
  EXPECT_EQ(reply["type"], "message");
  EXPECT_EQ(reply["role"], "assistant");
  EXPECT_EQ(reply["model"], "any");
  EXPECT_TRUE(reply["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(reply["stop_reason"], "tool_use");
  EXPECT_EQ(reply["stop_sequence"], nullptr);
  const Json& content = reply["content"];
  ASSERT_EQ(content.size(), 4u) << content.dump();
  EXPECT_EQ(content[0]["thinking"], "hm");
  EXPECT_EQ(content[0]["signature"], sign_thinking("hm", false));
  EXPECT_EQ(content[1]["text"], "I look.");
  EXPECT_EQ(content[2]["input"], Json({{"d", 1}}));
  EXPECT_EQ(content[3]["input"], Json::object());
  EXPECT_NE(content[2]["id"], content[3]["id"]);
  const Json& usage = reply["usage"];
  EXPECT_EQ(usage["input_tokens"], 18);
  EXPECT_EQ(usage["cache_read_input_tokens"], 32);
  EXPECT_EQ(usage["cache_creation_input_tokens"], 0);
  EXPECT_EQ(usage["output_tokens"], 7);
}

TEST_F(AnthropicTest, StreamedReply) {
  auto exchange = post(std::string(kHi) + kTools + R"(, "stream": true)");
  play(kCalls, {.reason = FinishReason::kStop});
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(outline(*exchange),
            "message_start\nping\n"
            "content_block_start 0 thinking\ncontent_block_delta 0 thinking_delta\n"
            "content_block_delta 0 signature_delta\ncontent_block_stop 0\n"
            "content_block_start 1 text\ncontent_block_delta 1 text_delta\ncontent_block_stop 1\n"
            "content_block_start 2 tool_use\ncontent_block_delta 2 input_json_delta\n"
            "content_block_stop 2\n"
            "content_block_start 3 tool_use\ncontent_block_delta 3 input_json_delta\n"
            "content_block_stop 3\n"
            "message_delta\nmessage_stop\n");
  const auto all = events(*exchange);
  const Json& start = all[0]["message"];
  EXPECT_EQ(start["content"], Json::array());
  EXPECT_EQ(start["stop_reason"], nullptr);
  EXPECT_EQ(start["usage"]["input_tokens"], 18);
  EXPECT_EQ(start["usage"]["output_tokens"], 0);
  const Json& delta = all[all.size() - 2];
  EXPECT_EQ(delta["delta"]["stop_reason"], "tool_use");
  EXPECT_EQ(delta["usage"]["input_tokens"], 18);
  EXPECT_EQ(delta["usage"]["output_tokens"], 7);
  EXPECT_TRUE(exchange->finished);
}

TEST_F(AnthropicTest, HiddenThinking) {
  for (const char* stream : {"false", "true"}) {
    auto exchange = post(
        fmt::format(R"({}, "stream": {}, "thinking": {{"type": "adaptive", "display": "omitted"}})",
                    kHi, stream));
    play("<think>secret</think>Done.", {.reason = FinishReason::kStop});
    ASSERT_TRUE(exchange->run());
    const std::string text = exchange->response ? exchange->response->body : exchange->stream;
    EXPECT_EQ(text.find("secret"), std::string::npos);
    EXPECT_NE(text.find(sign_thinking("secret", true)), std::string::npos);
    EXPECT_NE(text.find("Done."), std::string::npos);
  }
}

TEST_F(AnthropicTest, StopReasons) {
  const auto reason = [this](const std::string& text, engine::Event::Finish finish) {
    auto exchange = post(std::string(kHi) + kTools);
    play(text, std::move(finish));
    EXPECT_TRUE(exchange->run());
    const Json reply = body(*exchange);
    return fmt::format("{} {}", reply["stop_reason"].get<std::string>(),
                       reply["stop_sequence"].dump());
  };
  EXPECT_EQ(reason("x", {.reason = FinishReason::kStop}), "end_turn null");
  EXPECT_EQ(reason("x", {.reason = FinishReason::kLength}), "max_tokens null");
  EXPECT_EQ(reason("x", {.reason = FinishReason::kStop, .stop_string = "END"}),
            "stop_sequence \"END\"");
  EXPECT_EQ(reason(kCalls, {.reason = FinishReason::kStop}), "tool_use null");
  EXPECT_EQ(reason("<tool_call>{\"name\": \"ls\", ", {.reason = FinishReason::kLength}),
            "max_tokens null");
}

TEST_F(AnthropicTest, OneCallAtMost) {
  for (const char* choice : {R"({"type": "auto", "disable_parallel_tool_use": true})",
                             R"({"type": "tool", "name": "ls"})"}) {
    auto exchange = post(fmt::format(R"({}{}, "tool_choice": {})", kHi, kTools, choice));
    play(kCalls, {.reason = FinishReason::kStop});
    ASSERT_TRUE(exchange->run());
    EXPECT_EQ(body(*exchange)["content"].size(), 3u);
    EXPECT_EQ(body(*exchange)["stop_reason"], "tool_use");
  }
}

TEST_F(AnthropicTest, SilenceIsBrokenByPings) {
  auto exchange = post(std::string(kHi) + R"(, "stream": true)");
  EXPECT_EQ(exchange->content_type, "text/event-stream; charset=utf-8");
  EXPECT_EQ(exchange->stream, "") << "the first event knows what was cached";
  for (int second = 0; second < 8; ++second) {
    const auto tick = std::exchange(exchange->timer, nullptr);
    ASSERT_TRUE(tick);
    tick();
  }
  EXPECT_TRUE(outline(*exchange).starts_with("message_start\nping\n"));
  const auto n_prompt = engine_.submitted[0].request.prompt.size();
  EXPECT_EQ(events(*exchange)[0]["message"]["usage"]["input_tokens"], n_prompt);
  play("late", {.reason = FinishReason::kStop});
  ASSERT_TRUE(exchange->run());
  const std::string all = outline(*exchange);
  EXPECT_EQ(all.find("message_start"), all.rfind("message_start"));
}

TEST_F(AnthropicTest, RequestReachesTheEngine) {
  post(
      R"("max_tokens": 7, "temperature": 0.25, "top_p": 0.5, "top_k": 3, "stop_sequences": ["a", "b"],
    "metadata": {"user_id": "{}"}, "system": "You help.", "context_management": {"edits": []},
    "messages": [{"role": "user", "content": "hi"}])");
  const engine::GenerateRequest& request = engine_.submitted.at(0).request;
  EXPECT_EQ(request.max_tokens, 7u);
  EXPECT_EQ(request.sampling.temperature, 0.25f);
  EXPECT_EQ(request.sampling.top_p, 0.5f);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.match_text, "hi");
  EXPECT_NE(request.session, 0u);
  EXPECT_EQ(prompt(),
            "<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST_F(AnthropicTest, ReplyGoesOnFromAPrefill) {
  post(
      R"("messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "I say ("}])");
  EXPECT_TRUE(prompt().ends_with("<|im_start|>assistant\nI say (")) << prompt();
  post(R"("messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": ""}])");
  EXPECT_TRUE(prompt().ends_with("hi<|im_end|>\n<|im_start|>assistant\n")) << prompt();
}

TEST_F(AnthropicTest, ThinkingReachesTheTemplate) {
  engine_.info_.chat_template =
      "{{ enable_thinking }} {{ reasoning_effort }} {{ messages[0].content }}";
  service_ = Service::create(engine_, {}).value();
  const auto rendered = [this](const std::string& fields) {
    post(std::string(kHi) + fields);
    return prompt();
  };
  // Off is low for templates that know efforts only.
  EXPECT_EQ(rendered(""), "False low hi") << "the API's default";
  EXPECT_EQ(rendered(R"(, "thinking": {"type": "disabled"})"), "False low hi");
  EXPECT_EQ(rendered(R"(, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"})"),
            "True low hi");
  EXPECT_EQ(rendered(R"(, "thinking": {"type": "enabled", "budget_tokens": 31999})"), "True  hi")
      << "a budget above max_tokens";
}

TEST_F(AnthropicTest, CountIsThePrompt) {
  const std::string fields = R"("system": [{"type": "text", "text": "You help."}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hé"}]}])" +
                             std::string(kTools);
  post(fields);
  EXPECT_EQ(count(fields)["input_tokens"], engine_.submitted[0].request.prompt.size());
}

TEST_F(AnthropicTest, Errors) {
  const auto begins = [](const std::string& text, const std::string& head) {
    EXPECT_TRUE(text.starts_with(head)) << text;
  };
  begins(error_of(R"("messages": [])"), "400 invalid_request_error messages: ");
  begins(
      error_of(std::string(kHi) + R"(, "temperature": 1.5)"),
      "400 invalid_request_error temperature: found the number 1.5, expected a number from 0 to 1");
  begins(error_of(std::string(kHi) + R"(, "stop_sequences": ["a", ""])"),
         "400 invalid_request_error stop_sequences[1]: ");
  begins(error_of(std::string(kHi) + R"(, "thinking": {"type": "maybe"})"),
         "400 invalid_request_error thinking.type: ");
  begins(error_of(std::string(kHi) + R"(, "tool_choice": {"type": "any"})"),
         "400 invalid_request_error tool_choice: ");
  begins(error_of(std::string(kHi) + R"(, "output_config": {"format": {"type": "json_schema"}})"),
         "400 invalid_request_error output_config.format.schema: ");
  begins(error_of(R"("max_tokens": -1, "messages": [{"role": "user", "content": "hi"}])"),
         "400 invalid_request_error max_tokens: ");
  engine_.stats_.n_waiting = 100'000;
  begins(error_of(kHi), "503 overloaded_error ");
}

TEST_F(AnthropicTest, ContextOverflowInTheWordsThatClientsParse) {
  engine_.info_.max_length = 50;
  EXPECT_EQ(
      error_of(R"("messages": [{"role": "user", "content": ")" + std::string(60, 'x') + "\"}]"),
      "400 invalid_request_error prompt is too long: 79 tokens > 50 maximum");
}

TEST_F(AnthropicTest, ServerToolsGiveAWarningHeader) {
  const std::string tools = R"(, "tools": [{"type": "web_search_20250305", "name": "web_search"}])";
  auto exchange = post(std::string(kHi) + tools);
  play("x", {.reason = FinishReason::kStop});
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(exchange->response->headers.at(0).first, "X-Tempo9-Warning");
  auto streamed = post(std::string(kHi) + tools + R"(, "stream": true)");
  EXPECT_NE(streamed->stream_headers.at(0).second.find("web_search_20250305"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::server::anthropic
