#include "server/call_list.h"

#include <gtest/gtest.h>

#include "server/generation.h"
#include "server/structure.h"
#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server {
namespace {

using engine::FinishReason;
using testing::FakeEngine;
using testing::FakeExchange;

constexpr std::string_view kFindTool = R"([{"type":"function","function":{"name":"find",
  "parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}])";

constexpr std::string_view kOpening =
    "```json\n[\n  {\n    \"name\": \"find\",\n    \"arguments\":";

// What reaches the client's side: text, and usage at the end.
class UsageReply final : public Reply {
 public:
  Next on_event(http::Exchange&, size_t, engine::Event&& event) override {
    text_ += event.text;
    if (event.finish) usage_ = event.usage;
    return Next::kContinue;
  }
  void keep_alive(http::Exchange&) override {}
  void on_end(http::Exchange& exchange) override {
    exchange.respond({.body = fmt::format("{}|{} {} {}", text_, usage_.prompt_tokens,
                                          usage_.cached_tokens, usage_.completion_tokens)});
  }

 private:
  std::string text_;
  engine::Usage usage_;
};

class CallListTest : public ::testing::Test {
 protected:
  CallListTest() { engine_.info_.is_script = false; }
  ~CallListTest() override { exchange_->hang_up(); }

  void start(engine::GenerateRequest request = {.prompt = {1, 2, 3}}) {
    auto list = CallList::make(*service_, tools_);
    ASSERT_NE(list, nullptr);
    generate(service_, exchange_, {std::move(request)}, std::make_unique<UsageReply>(), list);
  }
  std::string body() {
    run_posted();
    return exchange_->response ? exchange_->response->body : "no response";
  }
  void run_posted() {
    while (!exchange_->response && exchange_->run_one(std::chrono::milliseconds(0))) {
    }
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::shared_ptr<FakeExchange> exchange_ = FakeExchange::post_json("/", "{}");
  std::vector<chat::Tool> tools_ = *chat::tools_from_json(Json::parse(kFindTool));
};

TEST_F(CallListTest, ACallAloneIsBegunAgainAsAList) {
  start({.prompt = {1, 2, 3}, .max_tokens = 100});
  for (const char* text : {"```json\n", "{\"name\": \"find\", ", "\"arguments\":", " {"})
    engine_.say(0, text);
  run_posted();
  ASSERT_EQ(engine_.submitted.size(), 2u);
  EXPECT_TRUE(engine_.submitted[0].cancelled);
  const engine::GenerateRequest& again = engine_.submitted[1].request;
  ASSERT_EQ(again.prompt.size(), 3 + kOpening.size()) << "its tokens are bytes";
  EXPECT_EQ(again.max_tokens, 100 - kOpening.size());

  engine_.say(0, "late");  // of the first attempt
  engine_.end(0, FinishReason::kCancelled);
  engine_.say(1, R"( {"city": "x"}}])");
  engine_.end(1, FinishReason::kStop, 5, 7);
  EXPECT_EQ(body(), fmt::format(R"({} {{"city": "x"}}}}]|0 0 {})", kOpening, kOpening.size() + 7))
      << "the prompt's usage is the first attempt's";
}

TEST_F(CallListTest, TheListsCallsAreHeldToTheirTools) {
  engine::GenerateRequest request{.prompt = {1, 2, 3}};
  const Status held = hold_calls(*service_, {.tools = &tools_}, &request);
  ASSERT_TRUE(held) << held.error().message;
  start(std::move(request));
  engine_.say(0, R"({"name": "find", "arguments")");
  run_posted();
  ASSERT_EQ(engine_.submitted.size(), 2u);
  const auto constraint = std::move(*engine_.submitted[1].request.rules->start());
  EXPECT_TRUE(*constraint->accept_text(R"( {"city": "x"}}, )"));
  EXPECT_TRUE(*constraint->accept_text(R"({"name": "find", "arguments": {")"));
  EXPECT_FALSE(*constraint->accept_text("town"));
}

TEST_F(CallListTest, OtherRepliesPassAsTheyAre) {
  start();
  for (const char* text : {"```", "py", "thon\n1"}) engine_.say(0, text);
  engine_.end(0, FinishReason::kStop);
  EXPECT_EQ(body(), "```python\n1|5 2 3");
  EXPECT_EQ(engine_.submitted.size(), 1u);
}

TEST_F(CallListTest, AReplyThatEndsWhileItIsOpenIsDeliveredWhole) {
  start();
  engine_.say(0, "{\"name\": ");
  engine_.say(0, "\"find\"");
  engine_.end(0, FinishReason::kLength);
  EXPECT_EQ(body(), "{\"name\": \"find\"|5 2 3");
}

TEST_F(CallListTest, WithoutRoomTheReplyGoesOn) {
  start({.prompt = {1, 2, 3}, .max_tokens = 30});
  engine_.say(0, "{\"name\": \"find\", \"arguments\"");
  engine_.end(0, FinishReason::kLength);
  EXPECT_EQ(body(), "{\"name\": \"find\", \"arguments\"|5 2 3");
  EXPECT_EQ(engine_.submitted.size(), 1u);
}

TEST_F(CallListTest, AClientThatGoesEndsTheSecondAttempt) {
  start();
  engine_.say(0, "{\"name\": \"find\", \"arguments\"");
  run_posted();
  ASSERT_EQ(engine_.submitted.size(), 2u);
  exchange_->hang_up();
  EXPECT_TRUE(engine_.submitted[1].cancelled);
}

TEST_F(CallListTest, NothingToBeginAgain) {
  EXPECT_EQ(CallList::make(*service_, {}), nullptr);
  engine_.info_.is_script = true;
  EXPECT_EQ(CallList::make(*service_, tools_), nullptr);
}

}  // namespace
}  // namespace tempo9::server
