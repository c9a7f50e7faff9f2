// `tempo9 quality`: how well a model predicts a text, and how near it comes to another one.
#include "engine/quality.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/cpu_count.h"
#include "cli/bench_options.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "cli/text_file.h"
#include "gguf/text.h"

namespace tempo9::cli {
namespace {

constexpr uint32_t kMinContext = 8, kMaxContext = 1u << 20;

struct QualityOptions {
  std::string model_path, other_path, text_path, kv_type = "i16", isa;
  engine::QualityPlan plan;
  uint32_t n_threads = 0;  // 0: by affinity and cgroup quota
  bool json = false, positions = false;
};

double mean(double sum, uint64_t n) { return sum / static_cast<double>(n); }

nlohmann::ordered_json result_json(const QualityOptions& options,
                                   const engine::QualityResult& result) {
  nlohmann::ordered_json json = {{"model", options.model_path},
                                 {"perplexity", result.sums.perplexity()},
                                 {"standard_error", result.sums.standard_error()},
                                 {"n_scored", result.sums.n_tokens},
                                 {"n_chunks", result.n_chunks},
                                 {"context", options.plan.context}};
  if (!options.other_path.empty()) {
    json["against"] = {
        {"model", options.other_path},
        {"perplexity", result.other.perplexity()},
        {"kl_divergence", mean(result.kl_divergence, result.sums.n_tokens)},
        {"same_top_1", mean(static_cast<double>(result.n_same_best), result.sums.n_tokens)}};
  }
  return json;
}

std::string result_text(const QualityOptions& options, const engine::QualityResult& result) {
  std::string text = fmt::format("perplexity {:.4f} +- {:.4f} over {} tokens ({} chunks of {})\n",
                                 result.sums.perplexity(), result.sums.standard_error(),
                                 result.sums.n_tokens, result.n_chunks, options.plan.context);
  if (!options.other_path.empty()) {
    text += fmt::format(
        "against {}: its perplexity {:.4f}, KL divergence from it {:.5f} nats, "
        "the same first choice in {:.2f} %\n",
        gguf::printable(options.other_path, 4096), result.other.perplexity(),
        mean(result.kl_divergence, result.sums.n_tokens),
        100 * mean(static_cast<double>(result.n_same_best), result.sums.n_tokens));
  }
  return text;
}

Status measure_quality(const QualityOptions& options) {
  T9_TRY(const std::string text, read_text_file("quality: --text", options.text_path));
  ops::BackendOptions backend;
  backend.n_threads = options.n_threads > 0 ? options.n_threads : usable_cpus().n_cpus;
  backend.isa = options.isa;
  T9_TRY(backend.kv_type, engine::parse_kv_type(options.kv_type));
  T9_TRY(engine::Quality quality,
         engine::Quality::create(options.model_path, options.other_path, options.plan, backend));
  T9_TRY(const uint32_t n_chunks, quality.read_text(text));
  const bool shows_progress = ::isatty(STDERR_FILENO) != 0;
  engine::QualityResult last;
  nlohmann::ordered_json positions = nlohmann::ordered_json::array();
  T9_TRY(quality.run(
      [&](const engine::QualityResult& result, std::span<const engine::TokenScore> scores) {
        last = result;
        if (shows_progress) {
          fmt::print(stderr, "\rchunk {} of {}, perplexity {:.4f} ", result.n_chunks, n_chunks,
                     result.sums.perplexity());
          std::fflush(stderr);
        }
        if (!options.positions) return;
        for (const engine::TokenScore& score : scores) {
          positions.push_back(
              {{"token", score.token}, {"logprob", score.logprob}, {"top_1", score.best}});
        }
      }));
  if (shows_progress) fmt::print(stderr, "\r\033[K");
  if (!options.json) {
    fmt::print("{}", result_text(options, last));
    return {};
  }
  nlohmann::ordered_json json = result_json(options, last);
  if (options.positions) json["positions"] = std::move(positions);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return {};
}

// What was typed, before it is checked.
struct QualityTexts {
  std::string model;  // without --gguf
  std::optional<std::string> context, chunks, threads;
};

Status read_numbers(const QualityTexts& texts, const Environment& environment,
                    QualityOptions* options) {
  if (texts.context) {
    T9_TRY(options->plan.context,
           parse_number("--context", *texts.context, kMinContext, kMaxContext));
  }
  if (texts.chunks) {
    T9_TRY(options->plan.max_chunks, parse_number("--chunks", *texts.chunks, 1, 1u << 30));
  }
  if (texts.threads) {
    T9_TRY(options->n_threads, parse_number("--threads", *texts.threads, 1, engine::kMaxBatch));
  } else if (environment.threads) {
    T9_TRY(options->n_threads, threads_from_environment(*environment.threads));
  }
  options->isa = environment.isa.value_or("");
  return {};
}

}  // namespace

int run_quality(const std::vector<std::string>& args, const Environment& environment) {
  QualityOptions options;
  QualityTexts texts;
  CLI::App app("Measures how well a model predicts a text, and how near it comes to another one.",
               "tempo9 quality");
  app.add_option("model", texts.model, "the model file")->type_name("F.gguf");
  app.add_option("--gguf", options.model_path, "the model file (any shard of a split one)")
      ->type_name("F");
  app.add_option("--text", options.text_path, "a file of text, read as it is")
      ->required()
      ->type_name("F");
  app.add_option("--against", options.other_path,
                 "another model of the same vocabulary, such as the unquantised one")
      ->type_name("F");
  app.add_option("--context", texts.context,
                 "tokens of a chunk, of which the second half is scored (default 512)")
      ->type_name("N");
  app.add_option("--chunks", texts.chunks, "chunks from the text's beginning (default: all)")
      ->type_name("N");
  app.add_option("--kv-type", options.kv_type, "type of the KV cache (default i16)")
      ->type_name("i16|q8_0|f16|f32");
  app.add_option("--threads", texts.threads,
                 "compute threads (default: by affinity and cgroup quota)")
      ->type_name("N");
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--positions", options.positions,
               "with --json: each scored token, its log-probability and the model's first choice");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(fmt::format("quality: {}", goes_on.error().message), kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (options.model_path.empty() == texts.model.empty())
    return report("quality: expected one model: --gguf F or a bare F.gguf", kExitUsage);
  if (options.model_path.empty()) options.model_path = texts.model;
  if (options.positions && !options.json)
    return report("quality: --positions: found it without --json; give both", kExitUsage);
  if (const Status read = read_numbers(texts, environment, &options); !read)
    return report(fmt::format("quality: {}", read.error().message), kExitUsage);
  if (const Status done = measure_quality(options); !done)
    return report(done.error().message, kExitFailure);
  return finish_output(kExitOk);
}

}  // namespace tempo9::cli
