// What /metrics tells, in Prometheus' text format. Names and labels are vLLM's where the meaning is
// the same (docs.vllm.ai, "Production Metrics"), so that dashboards and routers for it work; what
// is ours begins with tempo9.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/engine.h"

namespace tempo9::server {

// Any thread.
class Metrics {
 public:
  explicit Metrics(const std::string& model_name);

  // A choice's first token came this long after it was submitted.
  void first_token(double seconds) { time_to_first_token_->Observe(seconds); }
  // n tokens more, this long after the ones before them.
  void tokens(double seconds, size_t n);
  // A choice has ended, with all that it used.
  void finished(engine::FinishReason reason, const engine::Usage& usage);
  // A request whose client left before its end.
  void client_left() { clients_left_->Increment(); }

  // Not const: what the engine tells is brought up to date.
  std::string text(const engine::Engine& engine);

 private:
  using Labels = prometheus::Labels;
  prometheus::Counter* counter(const char* name, const char* help, const Labels& labels = {});
  prometheus::Histogram* histogram(const char* name, const char* help,
                                   const prometheus::Histogram::BucketBoundaries& bounds);
  std::vector<prometheus::MetricFamily> engine_families(const engine::Engine& engine) const;

  Labels model_;
  prometheus::Registry registry_;
  prometheus::Counter *prompt_tokens_, *generation_tokens_, *clients_left_;
  prometheus::Counter *stopped_, *too_long_, *aborted_, *failed_;
  prometheus::Histogram *time_to_first_token_, *inter_token_, *time_per_output_token_;
  prometheus::Histogram *end_to_end_, *queue_, *prefill_, *decode_, *inference_, *mean_token_;
  prometheus::Histogram *request_prompt_tokens_, *request_generation_tokens_;
};

}  // namespace tempo9::server
