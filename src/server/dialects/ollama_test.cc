// The Ollama routes over a fake engine: what is asked of the engine, and what goes back.
#include "server/dialects/ollama.h"

#include <gtest/gtest.h>

#include <sstream>

#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server::ollama {
namespace {

using engine::FinishReason;
using testing::body;
using testing::FakeEngine;
using testing::FakeExchange;

constexpr const char* kHi = R"("model": "m", "messages": [{"role": "user", "content": "hi"}])";

class OllamaTest : public ::testing::Test {
 protected:
  using Handler = void (*)(std::shared_ptr<const Service>, std::shared_ptr<http::Exchange>);

  ~OllamaTest() override {
    for (const auto& exchange : exchanges_) exchange->hang_up();
  }
  std::shared_ptr<FakeExchange> post(Handler handler, const std::string& fields) {
    auto exchange = exchanges_.emplace_back(FakeExchange::post_json("/api/x", "{" + fields + "}"));
    handler(service_, exchange);
    return exchange;
  }
  void play(const std::string& text, FinishReason reason = FinishReason::kStop) {
    engine::Event event;
    event.text = text;
    event.format = "hermes";
    event.tokens = {{.id = 'x', .logprob = -0.5f, .top = {}},
                    {.id = 'y', .logprob = -0.25f, .top = {}}};
    event.finish = engine::Event::Finish{.reason = reason};
    event.usage = {.prompt_tokens = 50, .cached_tokens = 32, .completion_tokens = 7};
    engine_.submitted.back().sink(std::move(event));
  }
  std::string error_of(Handler handler, const std::string& fields) {
    auto exchange = post(handler, fields);
    if (!exchange->response) return "accepted";
    return fmt::format("{} {}", exchange->response->status,
                       body(*exchange)["error"].get<std::string>());
  }
  static std::vector<Json> lines(const FakeExchange& exchange) {
    std::vector<Json> out;
    std::istringstream stream(exchange.stream);
    for (std::string line; std::getline(stream, line);) out.push_back(Json::parse(line));
    return out;
  }
  std::string prompt() const {
    return service_->tokenizer().decode(engine_.submitted.back().request.prompt, true);
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::vector<std::shared_ptr<FakeExchange>> exchanges_;
};

TEST_F(OllamaTest, StreamedIsTheDefault) {
  auto exchange = post(chat, kHi);
  EXPECT_EQ(exchange->content_type, "application/x-ndjson");
  engine_.say(0, "hel");
  play("lo");
  ASSERT_TRUE(exchange->run());
  const auto all = lines(*exchange);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["message"]["content"], "hel");
  EXPECT_EQ(all[1]["message"]["content"], "lo");
  EXPECT_EQ(all[1]["done"], false);
  const Json& last = all[2];
  EXPECT_EQ(last["model"], "m");
  EXPECT_EQ(last["message"]["content"], "");
  EXPECT_EQ(last["done"], true);
  EXPECT_EQ(last["done_reason"], "stop");
  EXPECT_EQ(last["prompt_eval_count"], 50);
  EXPECT_EQ(last["eval_count"], 7);
  EXPECT_GE(last["total_duration"].get<int64_t>(),
            last["prompt_eval_duration"].get<int64_t>() + last["eval_duration"].get<int64_t>());
  EXPECT_TRUE(exchange->finished);
}

TEST_F(OllamaTest, WholeReplyWithCallsAndThinking) {
  auto exchange = post(chat, std::string(kHi) + R"(, "stream": false, "tools": [{"type": "function",
      "function": {"name": "ls", "parameters": {"type": "object"}}}])");
  play(
      "<think>hm</think>Look.\n<tool_call>{\"name\": \"ls\", \"arguments\": {\"d\": "
      "[1]}}</tool_call>"
      "<tool_call>{\"name\": \"ls\"}</tool_call>",
      FinishReason::kLength);
  ASSERT_TRUE(exchange->run());
  const Json reply = body(*exchange);
  EXPECT_EQ(reply["message"]["content"], "Look.");
  EXPECT_EQ(reply["message"]["thinking"], "hm");
  const Json& calls = reply["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["function"]["arguments"], Json({{"d", {1}}}));
  EXPECT_EQ(calls[1]["function"]["arguments"], Json::object());
  EXPECT_EQ(calls[1]["function"]["index"], 1);
  EXPECT_EQ(reply["done_reason"], "length");
  EXPECT_EQ(reply["done"], true);
}

TEST_F(OllamaTest, SilenceIsBrokenByEmptyMessages) {
  for (Handler handler : {Handler(chat), Handler(generate)}) {
    auto exchange = post(handler, std::string(kHi) + R"(, "prompt": "hi")");
    for (int second = 0; second < 8; ++second) std::exchange(exchange->timer, nullptr)();
    const auto all = lines(*exchange);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["done"], false);
    EXPECT_EQ(handler == Handler(chat) ? all[0]["message"]["content"] : all[0]["response"], "");
  }
}

TEST_F(OllamaTest, OptionsReachTheEngine) {
  post(chat, kHi);
  EXPECT_EQ(engine_.submitted.at(0).request.sampling.temperature, 0.8f);
  EXPECT_EQ(engine_.submitted[0].request.max_tokens, std::nullopt);
  post(chat, std::string(kHi) +
                 R"(, "options": {"temperature": 0, "top_k": 5, "top_p": 0.5, "min_p": 0.25,
    "repeat_penalty": 1.5, "presence_penalty": 0.5, "frequency_penalty": -0.5, "seed": 7, "num_predict": 9,
    "stop": ["a", ""], "num_ctx": 8521, "num_thread": 3, "mirostat": 0, "typical_p": 1.0}, "format": "",
    "keep_alive": "5m", "truncate": false, "shift": false)");
  const engine::GenerateRequest& request = engine_.submitted.at(1).request;
  EXPECT_EQ(request.sampling.temperature, 0.0f);
  EXPECT_EQ(request.sampling.top_k, 5);
  EXPECT_EQ(request.sampling.top_p, 0.5f);
  EXPECT_EQ(request.sampling.min_p, 0.25f);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(request.sampling.presence_penalty, 0.5f);
  EXPECT_EQ(request.sampling.frequency_penalty, -0.5f);
  EXPECT_EQ(request.sampling.seed, 7u);
  EXPECT_EQ(request.max_tokens, 9u);
  EXPECT_EQ(request.stop, std::vector<std::string>{"a"});
  post(chat, std::string(kHi) + R"(, "options": {"num_predict": -1, "stop": "x"})");
  EXPECT_EQ(engine_.submitted.at(2).request.max_tokens, std::nullopt);
  EXPECT_EQ(engine_.submitted.at(2).request.stop, std::vector<std::string>{"x"});
}

TEST_F(OllamaTest, HistoryReachesTheTemplate) {
  engine_.info_.chat_template =
      "{% for m in messages %}{{ m.role }}|{{ m.name }}|{{ m.reasoning_content }}|{{ m.content }}|"
      "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% "
      "endfor %}/{% endfor %}{{ enable_thinking }}";
  service_ = Service::create(engine_, {}).value();
  post(chat, R"("messages": [{"role": "user", "content": "q", "images": []},
    {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [{"function": {"name": "ls",
     "arguments": {"d": 1}}}]}, {"role": "tool", "tool_name": "ls", "content": "out"}], "think": false)");
  EXPECT_EQ(prompt(), "user|||q|/assistant||hm||ls{\"d\": 1}/tool|ls||out|/False");
}

TEST_F(OllamaTest, NothingToSayIsALoad) {
  for (const char* fields : {R"("model": "m")", R"("model": "m", "messages": [])"}) {
    auto exchange = post(chat, fields);
    EXPECT_EQ(body(*exchange)["done_reason"], "load");
    EXPECT_EQ(body(*exchange)["message"]["content"], "");
  }
  auto exchange = post(generate, R"("model": "m", "prompt": "", "keep_alive": 0)");
  EXPECT_EQ(body(*exchange)["done_reason"], "unload");
  EXPECT_EQ(body(*exchange)["response"], "");
  EXPECT_TRUE(engine_.submitted.empty());
}

TEST_F(OllamaTest, GenerateRendersATurnAndGivesItsContext) {
  auto exchange = post(generate, R"("model": "m", "prompt": "hi", "system": "S", "stream": false)");
  EXPECT_EQ(
      prompt(),
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  const std::vector<TokenId> first = engine_.submitted.back().request.prompt;
  play("xy");
  ASSERT_TRUE(exchange->run());
  const Json reply = body(*exchange);
  EXPECT_EQ(reply["response"], "xy");
  std::vector<TokenId> context = first;
  context.insert(context.end(), {'x', 'y'});
  EXPECT_EQ(reply["context"], Json(context));
  post(generate, fmt::format(R"("prompt": "more", "context": {})", reply["context"].dump()));
  const auto& second = engine_.submitted.back().request.prompt;
  EXPECT_TRUE(std::equal(context.begin(), context.end(), second.begin()));
  EXPECT_TRUE(prompt().ends_with("<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\n"));
}

TEST_F(OllamaTest, RawPromptsAreTakenAsTheyAre) {
  auto exchange = post(generate, R"("prompt": "<|im_start|>x", "raw": true, "stream": false)");
  EXPECT_EQ(prompt(), "<|im_start|>x");
  play("<think>a</think><tool_call>");
  ASSERT_TRUE(exchange->run());
  EXPECT_EQ(body(*exchange)["response"], "<think>a</think><tool_call>");
  EXPECT_FALSE(body(*exchange).contains("context"));
}

TEST_F(OllamaTest, Logprobs) {
  auto exchange =
      post(generate, R"("prompt": "hi", "raw": true, "stream": false, "logprobs": true)");
  EXPECT_EQ(engine_.submitted[0].request.n_logprobs, 0u);
  play("xy");
  ASSERT_TRUE(exchange->run());
  const Json logprobs = body(*exchange)["logprobs"];
  ASSERT_EQ(logprobs.size(), 2u);
  EXPECT_EQ(logprobs[0]["token"], "x");
  EXPECT_EQ(logprobs[0]["logprob"], -0.5);
  EXPECT_EQ(logprobs[0]["bytes"], Json({120}));
}

TEST_F(OllamaTest, Errors) {
  const auto begins = [](const std::string& text, const std::string& head) {
    EXPECT_TRUE(text.starts_with(head)) << text;
  };
  begins(error_of(chat, R"("messages": [{"role": "robot", "content": "x"}])"),
         "400 messages[0].role: ");
  begins(error_of(chat, std::string(kHi) + R"(, "options": {"mirostat": 2})"),
         "501 options.mirostat: ");
  begins(error_of(chat, std::string(kHi) + R"(, "options": {"top_k": "x"})"),
         "400 options.top_k: ");
  begins(error_of(chat, std::string(kHi) + R"(, "format": {"type": "x"})"), "400 format: ");
  begins(error_of(chat, std::string(kHi) + R"(, "format": "xml")"), "400 format: ");
  begins(error_of(chat, std::string(kHi) + R"(, "think": "a lot")"), "400 think: ");
  begins(error_of(chat, R"("messages": [{"role": "user", "content": "x", "images": ["AA=="]}])"),
         "501 messages[0].images: ");
  begins(error_of(generate, R"("prompt": "x", "images": ["AA=="])"), "501 images: ");
  begins(error_of(generate, R"("prompt": "x", "suffix": "y")"), "400 suffix: ");
  begins(error_of(generate, R"("prompt": "x", "template": "y")"), "501 template: ");
  begins(error_of(embed, R"("input": "x")"), "501 a script gives no embeddings");
  begins(error_of(pull, R"("model": "other")"), "501 pull \"other\": ");
  engine_.info_.max_length = 10;
  begins(error_of(chat, kHi), "400 prompt too long; exceeded max context length by ");
}

TEST_F(OllamaTest, OlderPicturesAreNotes) {
  post(chat, R"("messages": [{"role": "user", "content": "see", "images": ["AA=="]},
    {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}])");
  EXPECT_NE(prompt().find("user\n[image left out: this model takes text only]\nsee<|im_end|>"),
            std::string::npos)
      << prompt();
}

TEST_F(OllamaTest, TheModelIsToldOf) {
  EXPECT_EQ(body(*post(version, ""))["version"], "0.14.0-tempo9");
  const Json listed = body(*post(tags, ""))["models"][0];
  EXPECT_EQ(listed["name"], "fake:latest");
  EXPECT_EQ(listed["digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(body(*post(ps, ""))["models"][0]["context_length"], 1000);
  for (const char* key : {"model", "name"}) {
    const Json shown = body(*post(show, fmt::format(R"("{}": "whatever")", key)));
    EXPECT_EQ(shown["model_info"]["general.architecture"], "script");
    EXPECT_EQ(shown["model_info"]["script.context_length"], 1000);
    EXPECT_EQ(shown["capabilities"][0], "completion");
  }
  EXPECT_EQ(post(show, "")->response->status, 400);
}

TEST_F(OllamaTest, PullOfTheLoadedModel) {
  for (const char* name : {"fake", "fake:latest", "Fake"}) {
    auto exchange = post(pull, fmt::format(R"("model": "{}")", name));
    EXPECT_EQ(exchange->response->content_type, "application/x-ndjson");
    EXPECT_TRUE(exchange->response->body.ends_with("{\"status\":\"success\"}\n"));
  }
  EXPECT_EQ(body(*post(pull, R"("name": "fake", "stream": false)"))["status"], "success");
}

TEST(OllamaNames, Tags) {
  EXPECT_EQ(tagged("qwen"), "qwen:latest");
  EXPECT_EQ(tagged("qwen:7b"), "qwen:7b");
  EXPECT_EQ(tagged("host:5000/qwen"), "host:5000/qwen:latest");
}

}  // namespace
}  // namespace tempo9::server::ollama
