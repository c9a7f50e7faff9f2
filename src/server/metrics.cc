#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "server/process_stats.h"

namespace tempo9::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Bounds = prometheus::Histogram::BucketBoundaries;

// vLLM's bounds, so that its dashboards' quantiles read the same.
const Bounds& first_token_bounds() {
  static const Bounds bounds{0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                             0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                             20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
  return bounds;
}
const Bounds& token_bounds() {
  static const Bounds bounds{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                             0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
  return bounds;
}
const Bounds& request_bounds() {
  static const Bounds bounds{0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                             5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                             60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
  return bounds;
}
const Bounds& length_bounds() {
  static const Bounds bounds{1,   2,    5,    10,   20,    50,    100,   200,
                             500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
  return bounds;
}

MetricFamily family(const char* name, const char* help, MetricType type) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

ClientMetric value_of(MetricType type, double value, const prometheus::Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = value;
  return metric;
}

}  // namespace

prometheus::Counter* Metrics::counter(const char* name, const char* help, const Labels& labels) {
  auto& counters =
      prometheus::BuildCounter().Name(name).Help(help).Labels(model_).Register(registry_);
  return &counters.Add(labels);
}

prometheus::Histogram* Metrics::histogram(const char* name, const char* help,
                                          const Bounds& bounds) {
  auto& histograms =
      prometheus::BuildHistogram().Name(name).Help(help).Labels(model_).Register(registry_);
  return &histograms.Add({}, bounds);
}

Metrics::Metrics(const std::string& model_name)
    : model_{{"model_name", model_name}, {"engine", "0"}},
      registry_(prometheus::Registry::InsertBehavior::Merge) {
  prompt_tokens_ = counter("vllm:prompt_tokens_total", "Prompt tokens of choices that ended.");
  generation_tokens_ =
      counter("vllm:generation_tokens_total", "Generated tokens of choices that ended.");
  constexpr const char* kSuccess = "vllm:request_success_total";
  constexpr const char* kSuccessHelp = "Choices that ended, by why.";
  stopped_ = counter(kSuccess, kSuccessHelp, {{"finished_reason", "stop"}});
  too_long_ = counter(kSuccess, kSuccessHelp, {{"finished_reason", "length"}});
  aborted_ = counter(kSuccess, kSuccessHelp, {{"finished_reason", "abort"}});
  failed_ = counter(kSuccess, kSuccessHelp, {{"finished_reason", "error"}});
  clients_left_ =
      counter("tempo9:requests_cancelled_total", "Requests whose client left before the end.");
  time_to_first_token_ = histogram("vllm:time_to_first_token_seconds",
                                   "From submission to the first token.", first_token_bounds());
  inter_token_ = histogram("vllm:inter_token_latency_seconds", "Between two tokens of a reply.",
                           token_bounds());
  time_per_output_token_ =
      histogram("vllm:time_per_output_token_seconds",
                "The older name of vllm:inter_token_latency_seconds.", token_bounds());
  mean_token_ = histogram("vllm:request_time_per_output_token_seconds",
                          "A reply's mean time between two tokens.", token_bounds());
  end_to_end_ = histogram("vllm:e2e_request_latency_seconds", "From submission to the end.",
                          request_bounds());
  queue_ = histogram("vllm:request_queue_time_seconds",
                     "From submission to the first step, with pages that come from disk.",
                     request_bounds());
  prefill_ = histogram("vllm:request_prefill_time_seconds",
                       "From the first step to the first token.", request_bounds());
  decode_ = histogram("vllm:request_decode_time_seconds", "From the first token to the last.",
                      request_bounds());
  inference_ = histogram("vllm:request_inference_time_seconds", "From the first step to the end.",
                         request_bounds());
  request_prompt_tokens_ =
      histogram("vllm:request_prompt_tokens", "Tokens of a prompt.", length_bounds());
  request_generation_tokens_ =
      histogram("vllm:request_generation_tokens", "Tokens of a reply.", length_bounds());
}

void Metrics::tokens(double seconds, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    inter_token_->Observe(seconds / static_cast<double>(n));
    time_per_output_token_->Observe(seconds / static_cast<double>(n));
  }
}

void Metrics::finished(engine::FinishReason reason, const engine::Usage& usage) {
  prompt_tokens_->Increment(usage.prompt_tokens);
  generation_tokens_->Increment(usage.completion_tokens);
  switch (reason) {
    case engine::FinishReason::kStop:
      stopped_->Increment();
      break;
    case engine::FinishReason::kLength:
      too_long_->Increment();
      break;
    case engine::FinishReason::kCancelled:
      aborted_->Increment();
      return;
    case engine::FinishReason::kError:
      failed_->Increment();
      return;
  }
  request_prompt_tokens_->Observe(usage.prompt_tokens);
  request_generation_tokens_->Observe(usage.completion_tokens);
  const engine::Timing& timing = usage.timing;
  end_to_end_->Observe(timing.now);
  queue_->Observe(timing.started);
  inference_->Observe(timing.now - timing.started);
  if (usage.completion_tokens == 0) return;
  prefill_->Observe(timing.first_token - timing.started);
  decode_->Observe(timing.now - timing.first_token);
  if (usage.completion_tokens > 1) {
    mean_token_->Observe((timing.now - timing.first_token) / (usage.completion_tokens - 1));
  }
}

std::vector<MetricFamily> Metrics::engine_families(const engine::Engine& engine) const {
  const engine::Stats stats = engine.stats();
  const engine::CacheTotals cache = engine.cache_totals();
  std::vector<MetricFamily> families;
  const auto add = [&](const char* name, MetricType type, const char* help, double value) {
    families.push_back(family(name, help, type));
    families.back().metric.push_back(value_of(type, value, model_));
  };
  const auto add_part = [&](MetricType type, const char* label, const std::string& which,
                            double value) {
    Labels labels = model_;
    labels[label] = which;
    families.back().metric.push_back(value_of(type, value, labels));
  };
  const auto number = [](uint64_t n) { return static_cast<double>(n); };
  constexpr MetricType kGauge = MetricType::Gauge, kCounter = MetricType::Counter;
  add("vllm:num_requests_running", kGauge, "Requests in the batch.", stats.n_running);
  add("vllm:num_requests_waiting", kGauge, "Requests waiting for a place in the batch.",
      stats.n_waiting);
  add("vllm:kv_cache_usage_perc", kGauge, "KV memory that running requests hold; 1 is all of it.",
      stats.kv_bytes > 0 ? number(stats.held_kv_bytes) / number(stats.kv_bytes) : 0);
  add("vllm:num_preemptions_total", kCounter, "Replies that had to give their pages to others.",
      number(stats.n_preemptions));
  add("vllm:prefix_cache_queries_total", kCounter,
      "Prompt tokens that were looked for in the prefix cache.", number(cache.asked));
  add("vllm:prefix_cache_hits_total", kCounter, "Prompt tokens found in the prefix cache.",
      number(cache.found.live + cache.found.ram + cache.found.disk));
  families.push_back(family("tempo9:prefix_cache_hit_tokens_total",
                            "Prompt tokens found in the prefix cache, by where.", kCounter));
  add_part(kCounter, "source", "live", number(cache.found.live));
  add_part(kCounter, "source", "ram", number(cache.found.ram));
  add_part(kCounter, "source", "ssd", number(cache.found.disk));
  if (!cache.misses.empty()) {
    families.push_back(family("tempo9:prefix_cache_misses_total",
                              "Prompts that were not found whole, by likely cause.", kCounter));
    for (const auto& [cause, misses] : cache.misses) {
      add_part(kCounter, "cause", cause, number(misses.n_prompts));
    }
    families.push_back(family("tempo9:prefix_cache_miss_tokens_total",
                              "Their tokens that had to be computed.", kCounter));
    for (const auto& [cause, misses] : cache.misses) {
      add_part(kCounter, "cause", cause, number(misses.n_tokens));
    }
  }
  add("tempo9:kv_cache_resident_bytes", kGauge, "Memory that KV pages take now.",
      number(stats.resident_kv_bytes));
  add("tempo9:kv_cache_limit_bytes", kGauge, "Memory that KV pages may take.",
      number(stats.kv_bytes));
  add("tempo9:memory_limit_bytes", kGauge,
      "Memory that weights, KV cache and work were planned to fit in.",
      number(engine.info().memory_limit_bytes));
  add("tempo9:engine_steps_total", kCounter, "Steps of the engine.", number(stats.n_steps));
  add("tempo9:engine_failed", kGauge,
      "1: the engine could not go on; the process ends, to be started again.",
      stats.has_failed ? 1 : 0);
  add("tempo9:model_loaded", kGauge, "1: the model is in memory; 0: it comes with a request.",
      stats.is_loaded ? 1 : 0);
  return families;
}

std::string Metrics::text(const engine::Engine& engine) {
  std::vector<MetricFamily> families = engine_families(engine);
  for (MetricFamily& part : registry_.Collect()) families.push_back(std::move(part));
  const ProcessStats process = process_stats();
  const auto add = [&](const char* name, const char* help, MetricType type, double value) {
    families.push_back(family(name, help, type));
    families.back().metric.push_back(value_of(type, value, {}));
  };
  // The names of Prometheus' own client libraries.
  add("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
      static_cast<double>(process.resident_bytes));
  add("process_cpu_seconds_total", "Processor time, user and system.", MetricType::Counter,
      process.cpu_seconds);
  add("process_open_fds", "Open file descriptors.", MetricType::Gauge,
      static_cast<double>(process.n_open_files));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tempo9::server
