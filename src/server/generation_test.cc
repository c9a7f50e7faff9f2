#include "server/generation.h"

#include <gtest/gtest.h>

#include "server/testing/fake_engine.h"
#include "server/testing/fake_exchange.h"

namespace tempo9::server {
namespace {

using engine::FinishReason;
using testing::FakeEngine;
using testing::FakeExchange;

// Writes what it gets, in a form that is easy to compare.
class PlainReply final : public Reply {
 public:
  explicit PlainReply(bool is_streamed, std::string stop_at = "") : stop_at_(std::move(stop_at)) {
    streamed = is_streamed;
  }

  Next on_event(http::Exchange& exchange, size_t choice, engine::Event&& event) override {
    log_ += std::to_string(choice) + ":" + event.text + (event.finish ? "." : "") + " ";
    if (streamed) {
      exchange.write(event.text);
      wrote = true;
    }
    return !stop_at_.empty() && event.text == stop_at_ ? Next::kStopChoice : Next::kContinue;
  }
  void keep_alive(http::Exchange& exchange) override { exchange.write("~"); }
  void on_end(http::Exchange& exchange) override {
    if (streamed) {
      exchange.finish();
    } else {
      exchange.respond({.body = log_});
    }
  }

 private:
  std::string stop_at_;
  std::string log_;
};

class GenerationTest : public ::testing::Test {
 protected:
  ~GenerationTest() override { exchange_->hang_up(); }
  void start(size_t n, bool streamed, std::string stop_at = "") {
    std::vector<engine::GenerateRequest> requests(n);
    generate(service_, exchange_, std::move(requests),
             std::make_unique<PlainReply>(streamed, std::move(stop_at)));
  }
  void run_posted() {
    while (exchange_->run_one(std::chrono::milliseconds(0))) {
    }
  }

  // Is there a line that begins so, with this value?
  ::testing::AssertionResult measured(const std::string& begin, int value) {
    const std::string text = service_->metrics().text(engine_);
    const size_t at = text.find("\n" + begin);
    if (at == std::string::npos) return ::testing::AssertionFailure() << "none begins " << begin;
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    if (line.ends_with("} " + std::to_string(value))) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << line;
  }

  FakeEngine engine_;
  std::shared_ptr<Service> service_ = Service::create(engine_, {}).value();
  std::shared_ptr<FakeExchange> exchange_ = FakeExchange::post_json("/", "{}");
};

TEST_F(GenerationTest, ChoicesKeepTheirOrderAndEndTogether) {
  start(2, false);
  engine_.say(1, "b");
  engine_.say(0, "a");
  engine_.end(0, FinishReason::kStop);
  run_posted();
  EXPECT_FALSE(exchange_->response) << "one choice is still running";
  engine_.end(1, FinishReason::kLength);
  ASSERT_TRUE(exchange_->run());
  EXPECT_EQ(exchange_->response->body, "1:b 0:a 0:. 1:. ");
  EXPECT_TRUE(measured(
      "vllm:request_success_total{engine=\"0\",model_name=\"fake\",finished_reason=\"stop\"", 1));
  EXPECT_TRUE(measured(
      "vllm:request_success_total{engine=\"0\",model_name=\"fake\",finished_reason=\"length\"", 1));
  EXPECT_TRUE(measured("vllm:prompt_tokens_total{", 10));
}

TEST_F(GenerationTest, RefusedSubmissionIsAStatusAndCancelsTheOthers) {
  engine_.refuse_from = 1;
  start(2, true);
  ASSERT_TRUE(exchange_->response);
  EXPECT_EQ(exchange_->response->status, 400);
  EXPECT_TRUE(exchange_->content_type.empty());
  EXPECT_TRUE(engine_.submitted[0].cancelled);
  engine_.end(0, FinishReason::kCancelled);
  run_posted();
}

TEST_F(GenerationTest, OverloadIsAStatusToRetry) {
  engine_.stats_.n_waiting = 100'000;
  start(1, true);
  ASSERT_TRUE(exchange_->response);
  EXPECT_EQ(exchange_->response->status, 503);
  EXPECT_EQ(exchange_->response->headers.at(0).first, "Retry-After");
  EXPECT_TRUE(engine_.submitted.empty());
}

TEST_F(GenerationTest, ClientThatLeavesCancelsWhatRuns) {
  start(2, true);
  engine_.say(0, "a");
  engine_.end(0, FinishReason::kStop);
  run_posted();
  exchange_->leave();
  EXPECT_FALSE(engine_.submitted[0].cancelled) << "it had ended";
  EXPECT_TRUE(engine_.submitted[1].cancelled);
  engine_.end(1, FinishReason::kCancelled);
  run_posted();
  EXPECT_EQ(exchange_->stream, "a");
  EXPECT_FALSE(exchange_->finished);
  EXPECT_TRUE(measured(
      "vllm:request_success_total{engine=\"0\",model_name=\"fake\",finished_reason=\"abort\"", 1));
  EXPECT_TRUE(measured("tempo9:requests_cancelled_total{", 1));
}

TEST_F(GenerationTest, FailureInAStreamResetsIt) {
  start(2, true);
  engine_.say(0, "a");
  engine_.end(0, FinishReason::kError);
  ASSERT_TRUE(exchange_->run());
  EXPECT_TRUE(exchange_->was_reset);
  EXPECT_FALSE(exchange_->finished);
  EXPECT_TRUE(engine_.submitted[1].cancelled);
}

TEST_F(GenerationTest, FailureOfAWholeReplyIsAStatus) {
  start(1, false);
  engine_.say(0, "a");
  engine_.end(0, FinishReason::kError);
  ASSERT_TRUE(exchange_->run());
  EXPECT_EQ(exchange_->response->status, 500);
}

TEST_F(GenerationTest, ShutdownIsSaidSo) {
  start(1, false);
  engine_.end(0, FinishReason::kCancelled);
  ASSERT_TRUE(exchange_->run());
  EXPECT_EQ(exchange_->response->status, 503);
}

TEST_F(GenerationTest, ChoiceThatHasEnoughIsCancelledAndEndsWell) {
  start(1, true, "enough");
  engine_.say(0, "enough");
  run_posted();
  EXPECT_TRUE(engine_.submitted[0].cancelled);
  engine_.end(0, FinishReason::kCancelled);
  ASSERT_TRUE(exchange_->run());
  EXPECT_TRUE(exchange_->finished);
}

TEST_F(GenerationTest, SlowReaderHoldsEventsBack) {
  start(1, true);
  exchange_->pending = 10 << 20;
  engine_.say(0, "a");
  engine_.say(0, "b");
  run_posted();
  EXPECT_EQ(exchange_->stream, "");
  engine_.end(0, FinishReason::kStop);
  run_posted();
  exchange_->drained();
  EXPECT_EQ(exchange_->stream, "ab");
  EXPECT_TRUE(exchange_->finished);
}

TEST_F(GenerationTest, SilenceIsBrokenWithinTenSeconds) {
  start(1, true);
  const auto seconds = [this](int n) {
    for (int i = 0; i < n; ++i) std::exchange(exchange_->timer, nullptr)();
  };
  seconds(10);
  EXPECT_EQ(exchange_->stream, "~");
  engine_.say(0, "a");
  run_posted();
  seconds(7);
  EXPECT_EQ(exchange_->stream, "~a") << "silence is counted from the last write";
  seconds(1);
  EXPECT_EQ(exchange_->stream, "~a~");
}

}  // namespace
}  // namespace tempo9::server
