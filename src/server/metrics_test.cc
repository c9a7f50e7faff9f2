#include "server/metrics.h"

#include <gtest/gtest.h>

#include "server/process_stats.h"
#include "server/testing/fake_engine.h"

namespace tempo9::server {
namespace {

class MetricsTest : public ::testing::Test {
 protected:
  // The value behind "name{labels}", as text.
  std::string value(const std::string& sample) {
    const std::string text = metrics_.text(engine_);
    const size_t at = text.find("\n" + sample + " ");
    if (at == std::string::npos) return "none";
    const size_t begin = at + sample.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  static std::string of_model(const std::string& name) {
    return name + R"({engine="0",model_name="m"})";
  }
  static std::string bucket(const std::string& name, const std::string& bound) {
    return name + R"(_bucket{engine="0",model_name="m",le=")" + bound + "\"}";
  }

  testing::FakeEngine engine_;
  Metrics metrics_{"m"};
};

TEST_F(MetricsTest, PartsOfARequestAddUp) {
  engine::Usage usage{.prompt_tokens = 100, .completion_tokens = 11};
  usage.timing = {.now = 4, .started = 0.5, .first_token = 1.5};
  metrics_.finished(engine::FinishReason::kStop, usage);
  EXPECT_EQ(value(of_model("vllm:request_queue_time_seconds_sum")), "0.5");
  EXPECT_EQ(value(of_model("vllm:request_prefill_time_seconds_sum")), "1");
  EXPECT_EQ(value(of_model("vllm:request_decode_time_seconds_sum")), "2.5");
  EXPECT_EQ(value(of_model("vllm:e2e_request_latency_seconds_sum")), "4");
  EXPECT_EQ(value(of_model("vllm:request_inference_time_seconds_sum")), "3.5");
  EXPECT_EQ(value(of_model("vllm:request_time_per_output_token_seconds_sum")), "0.25");
  EXPECT_EQ(value(bucket("vllm:e2e_request_latency_seconds", "2.5")), "0");
  EXPECT_EQ(value(bucket("vllm:e2e_request_latency_seconds", "5")), "1");
  EXPECT_EQ(value(of_model("vllm:prompt_tokens_total")), "100");
  EXPECT_EQ(value(of_model("vllm:generation_tokens_total")), "11");
}

TEST_F(MetricsTest, ARequestThatDidNotEndWellHasNoLatency) {
  for (const auto reason : {engine::FinishReason::kCancelled, engine::FinishReason::kError}) {
    metrics_.finished(reason, {.prompt_tokens = 7});
  }
  EXPECT_EQ(value(of_model("vllm:e2e_request_latency_seconds_count")), "0");
  EXPECT_EQ(value(of_model("vllm:prompt_tokens_total")), "14");
  EXPECT_EQ(
      value(R"(vllm:request_success_total{engine="0",model_name="m",finished_reason="abort"})"),
      "1");
  EXPECT_EQ(
      value(R"(vllm:request_success_total{engine="0",model_name="m",finished_reason="error"})"),
      "1");
}

TEST_F(MetricsTest, TokensThatComeTogetherShareTheirTime) {
  metrics_.tokens(0.4, 2);
  EXPECT_EQ(value(of_model("vllm:inter_token_latency_seconds_count")), "2");
  EXPECT_EQ(value(of_model("vllm:inter_token_latency_seconds_sum")), "0.4");
  EXPECT_EQ(value(bucket("vllm:inter_token_latency_seconds", "0.15")), "0");
  EXPECT_EQ(value(bucket("vllm:inter_token_latency_seconds", "0.3")), "2");
}

TEST_F(MetricsTest, TheEngineIsAskedEachTime) {
  engine_.stats_ = {.n_running = 2, .n_waiting = 3, .kv_bytes = 8, .held_kv_bytes = 2};
  EXPECT_EQ(value(of_model("vllm:num_requests_running")), "2");
  EXPECT_EQ(value(of_model("vllm:kv_cache_usage_perc")), "0.25");
  engine_.stats_.is_loaded = false;
  EXPECT_EQ(value(of_model("tempo9:model_loaded")), "0");
}

TEST(ProcessStats, ThisProcessHasSome) {
  const ProcessStats stats = process_stats();
  EXPECT_GT(stats.resident_bytes, 1u << 20);
  EXPECT_GE(stats.n_open_files, 3u);
  EXPECT_GE(stats.cpu_seconds, 0.0);
}

}  // namespace
}  // namespace tempo9::server
