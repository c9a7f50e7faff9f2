// Responses over a fake engine: what is asked of the engine, what goes back, what is kept.
#include "server/dialects/openai_responses.h"

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

class ResponsesTest : public ::testing::Test {
 protected:
  ~ResponsesTest() override {
    for (const auto& exchange : exchanges_) exchange->hang_up();
  }
  std::shared_ptr<FakeExchange> ask(http::Request request) {
    return exchanges_.emplace_back(std::make_shared<FakeExchange>(std::move(request)));
  }
  std::shared_ptr<FakeExchange> create(const std::string& fields) {
    auto exchange = ask({.method = "POST", .path = "/v1/responses", .body = "{" + fields + "}"});
    create_response(service_, exchange);
    return exchange;
  }
  // A finished reply of this text.
  Json reply(const std::string& fields, const std::string& text) {
    const size_t id = engine_.submitted.size();
    auto exchange = create(fields);
    if (engine_.submitted.size() == id) return body(*exchange);
    engine_.say(id, text);
    engine_.end(id, FinishReason::kStop);
    EXPECT_TRUE(exchange->run());
    return body(*exchange);
  }
  std::string prompt(size_t id) {
    return service_->tokenizer().decode(engine_.submitted.at(id).request.prompt, true);
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::vector<std::shared_ptr<FakeExchange>> exchanges_;
};

TEST_F(ResponsesTest, WholeReply) {
  const Json got = reply(R"("input": "hi", "instructions": "rule", "model": "any/name")", "hello");
  EXPECT_EQ(prompt(0),
            "<|im_start|>system\nrule<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(engine_.submitted[0].request.match_text, "hi");
  EXPECT_EQ(got["status"], "completed");
  EXPECT_EQ(got["model"], "any/name");
  EXPECT_EQ(got["output"][0]["content"][0]["text"], "hello");
  EXPECT_EQ(got["usage"]["total_tokens"], 8);
  EXPECT_EQ(got["usage"]["input_tokens_details"]["cached_tokens"], 2);
  EXPECT_FALSE(got.contains("warnings"));
}

TEST_F(ResponsesTest, StreamedEventsCountAndEndOnce) {
  auto exchange = create(R"("input": "hi", "stream": true)");
  engine_.say(0, "<think>t</think>a");
  engine_.say(0, "b");
  engine_.end(0, FinishReason::kLength);
  ASSERT_TRUE(exchange->run());
  const auto got = events(*exchange);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i]["sequence_number"], i);
  EXPECT_EQ(got.front()["type"], "response.created");
  EXPECT_EQ(got.back()["type"], "response.incomplete");
  EXPECT_EQ(got.back()["response"]["incomplete_details"]["reason"], "max_output_tokens");
  ASSERT_EQ(got.back()["response"]["output"].size(), 2u);
  EXPECT_EQ(got.back()["response"]["output"][0]["status"], "completed");
  EXPECT_EQ(got.back()["response"]["output"][1]["status"], "incomplete");
  EXPECT_EQ(got.back()["response"]["output"][1]["content"][0]["text"], "ab");
  EXPECT_TRUE(exchange->finished);
  EXPECT_EQ(exchange->stream.find("[DONE]"), std::string::npos);
}

// Comments do not count for Codex, so silence is broken by an event.
TEST_F(ResponsesTest, SilenceIsBrokenByInProgress) {
  auto exchange = create(R"("input": "hi", "stream": true)");
  const size_t before = events(*exchange).size();
  for (int second = 0; second < 30; ++second) {
    ASSERT_TRUE(exchange->timer);
    std::exchange(exchange->timer, nullptr)();
  }
  const auto got = events(*exchange);
  EXPECT_GE(got.size(), before + 3);
  for (size_t i = before; i < got.size(); ++i) {
    EXPECT_EQ(got[i]["type"], "response.in_progress");
    EXPECT_EQ(got[i]["sequence_number"], i);
  }
}

TEST_F(ResponsesTest, AFailureResetsTheStream) {
  auto exchange = create(R"("input": "hi", "stream": true)");
  engine_.say(0, "half");
  engine_.end(0, FinishReason::kError);
  ASSERT_TRUE(exchange->run());
  EXPECT_TRUE(exchange->was_reset);
  EXPECT_EQ(exchange->stream.find("response.failed"), std::string::npos);
  EXPECT_EQ(exchange->stream.find("response.completed"), std::string::npos);
}

TEST_F(ResponsesTest, EarlierResponsesAreGoneOnFrom) {
  const Json first = reply(R"("input": "one", "instructions": "rule")", "two");
  const std::string id = first["id"];
  const Json second = reply(R"("input": "three", "previous_response_id": ")" + id + "\"", "four");
  EXPECT_EQ(second["previous_response_id"], id);
  EXPECT_EQ(prompt(1),
            "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n"
            "<|im_start|>user\nthree<|im_end|>\n<|im_start|>assistant\n");
  // It goes on with nothing but what is stored, too.
  reply(R"("previous_response_id": ")" + second["id"].get<std::string>() + "\"", "five");
  EXPECT_NE(prompt(2).find("four"), std::string::npos);
  const Json unknown = reply(R"("input": "x", "previous_response_id": "resp_0")", "");
  EXPECT_EQ(unknown["error"]["param"], "previous_response_id");
  EXPECT_EQ(exchanges_.back()->response->status, 404);
}

// As the API keeps them: what was referred to is stored as the item itself.
TEST_F(ResponsesTest, ReferencesStandForTheItemsOfEarlierResponses) {
  const Json first = reply(R"("input": "one")", "two");
  const std::string id = first["output"][0]["id"];
  const Json second =
      reply(fmt::format(R"("input": [{{"role": "user", "content": "again"}}, {{"id": "{}"}}])", id),
            "ok");
  EXPECT_EQ(prompt(1),
            "<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n"
            "<|im_start|>assistant\n");
  auto items =
      ask({.method = "GET",
           .path = fmt::format("/v1/responses/{}/input_items", second["id"].get<std::string>()),
           .query = "order=asc"});
  get_response(service_, items);
  EXPECT_EQ(body(*items)["data"][1], first["output"][0]);
}

TEST_F(ResponsesTest, StoredOnesAreShownAndDeleted) {
  const Json made = reply(R"("input": ["x"])", "");
  EXPECT_EQ(made["error"]["param"], "input[0]");
  const Json kept = reply(R"("input": [{"role": "user", "content": "one"}])", "two");
  const std::string path = "/v1/responses/" + kept["id"].get<std::string>();
  auto shown = ask({.method = "GET", .path = path});
  get_response(service_, shown);
  EXPECT_EQ(body(*shown), kept);
  auto items = ask({.method = "GET", .path = path + "/input_items"});
  get_response(service_, items);
  EXPECT_EQ(body(*items)["data"][0]["content"][0]["text"], "one");
  auto page = ask({.method = "GET", .path = path + "/input_items", .query = "limit=x"});
  get_response(service_, page);
  EXPECT_EQ(page->response->status, 400);
  for (const char* query : {"include=a&include[]=b", "include[]=a&include=b", "include[]=a",
                            "include=a&include=b", "include[]=a&include[]=b"}) {
    auto listed = ask({.method = "GET", .path = path + "/input_items", .query = query});
    get_response(service_, listed);
    EXPECT_EQ(body(*listed)["data"].size(), 1u) << query;
  }
  for (const char* query : {"limit=1&limit[]=2", "limit[]=1&limit=2", "order[]=asc"}) {
    auto listed = ask({.method = "GET", .path = path + "/input_items", .query = query});
    get_response(service_, listed);
    EXPECT_EQ(listed->response->status, 400) << query;
  }
  auto again = ask({.method = "GET", .path = path, .query = "stream=true&starting_after=0"});
  get_response(service_, again);
  EXPECT_TRUE(again->stream.starts_with("event: response.in_progress\n")) << again->stream;
  EXPECT_NE(again->stream.find(R"("delta":"two")"), std::string::npos);
  EXPECT_TRUE(again->finished);
  auto cancelled = ask({.method = "POST", .path = path + "/cancel"});
  cancel_response(service_, cancelled);
  EXPECT_EQ(cancelled->response->status, 400);
  auto deleted = ask({.method = "DELETE", .path = path});
  delete_response(service_, deleted);
  EXPECT_EQ(body(*deleted)["deleted"], true);
  for (const auto& route : {get_response, delete_response}) {
    auto gone = ask({.method = "GET", .path = path});
    route(service_, gone);
    EXPECT_EQ(gone->response->status, 404);
  }
  auto elsewhere = ask({.method = "POST", .path = path});
  cancel_response(service_, elsewhere);
  EXPECT_EQ(elsewhere->response->status, 404);
}

TEST_F(ResponsesTest, NothingIsKeptAgainstTheClientsWish) {
  reply(R"("input": "x", "store": false)", "y");
  EXPECT_EQ(service_->responses().n_bytes(), 0u);
}

TEST_F(ResponsesTest, TruncationKeepsTheInstructionsAndTheNewest) {
  const std::string items = R"("instructions": "rule", "truncation": "auto", "input": [
      {"role": "user", "content": ")" +
                            std::string(800, 'a') + R"("},
      {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c", "output": ")" +
                            std::string(950, 'b') + R"("},
      {"role": "user", "content": "last"}])";
  const Json got = reply(items, "ok");
  EXPECT_EQ(prompt(0),
            "<|im_start|>system\nrule<|im_end|>\n<|im_start|>user\nlast<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_NE(got["warnings"][0].get<std::string>().find("oldest 3 of 5"), std::string::npos);
}

TEST_F(ResponsesTest, TokensAreCounted) {
  auto exchange = ask({.method = "POST",
                       .path = "/v1/responses/input_tokens",
                       .body = R"({"input": "hi", "instructions": "rule"})"});
  count_response_tokens(service_, exchange);
  reply(R"("input": "hi", "instructions": "rule")", "");
  EXPECT_EQ(body(*exchange)["input_tokens"], engine_.submitted[0].request.prompt.size());
}

TEST_F(ResponsesTest, LimitsReachTheEngine) {
  create(
      R"("input": "x", "max_output_tokens": 99999999999, "top_logprobs": 3, "temperature": 0.25)");
  const engine::GenerateRequest& request = engine_.submitted[0].request;
  EXPECT_EQ(request.max_tokens, UINT32_MAX);
  EXPECT_EQ(request.n_logprobs, 3u);
  EXPECT_EQ(request.sampling.temperature, 0.25f);
  create(R"("input": "x")");
  EXPECT_FALSE(engine_.submitted[1].request.max_tokens.has_value());
}

// Whatever is written by the model leaves as strict JSON; whatever is not one string as it is.
TEST_F(ResponsesTest, CustomInputThatIsNoStringGoesAsItIs) {
  const std::string tools = R"("input": "x", "tools": [{"type": "custom", "name": "t"}])";
  const Json got =
      reply(tools, R"(<tool_call>{"name": "t", "arguments": {"input": "a", "b": 1}}</tool_call>)");
  EXPECT_EQ(got["output"][0]["type"], "custom_tool_call");
  EXPECT_EQ(got["output"][0]["input"], R"({"input":"a","b":1})");
}

}  // namespace
}  // namespace tempo9::server::openai
