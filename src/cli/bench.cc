// `tempo9 bench`: the machine's roofs, and how near a model comes to them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu_count.h"
#include "cli/bench_options.h"
#include "cli/bench_report.h"
#include "cli/cli.h"
#include "engine/build.h"
#include "gguf/text.h"

namespace tempo9::cli {
namespace {

// Prints as it goes, or gathers JSON and prints that at the end.
class Benchmark {
 public:
  explicit Benchmark(BenchOptions options) : options_(std::move(options)) {
    if (options_.n_threads == 0) options_.n_threads = usable_cpus().n_cpus;
  }

  Status run() {
    if (options_.roofs) T9_TRY(measure_roofs());
    if (!options_.model_path.empty()) T9_TRY(measure_model());
    if (options_.json) say(json_.dump() + "\n");
    return {};
  }

 private:
  static void say(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  }
  void say_unless_json(const std::string& text) const {
    if (!options_.json) say(text);
  }

  Status measure_roofs() {
    std::vector<uint32_t> threads = {1};
    if (options_.n_threads > 1) threads.push_back(options_.n_threads);
    json_["roofs"] = nlohmann::ordered_json::array();
    bool is_first = true;
    for (const ops::Roof roof : {ops::Roof::kInt8Dots, ops::Roof::kF32Fmas, ops::Roof::kRead}) {
      for (const uint32_t n_threads : threads) {
        T9_TRY(const RoofLine line, measure_roof(roof, n_threads));
        json_["roofs"].push_back(roof_json(line));
        if (std::exchange(is_first, false))
          say_unless_json(fmt::format("kernel table {}\n\n{}", line.isa, roof_head()));
        say_unless_json(roof_text(line));
      }
    }
    return {};
  }

  Result<RoofLine> measure_roof(ops::Roof roof, uint32_t n_threads) {
    ops::RoofOptions options;
    options.isa = options_.isa;
    options.n_threads = n_threads;
    options.n_repeats = options_.plan.n_repeats;
    T9_TRY(ops::RoofRates rates, engine::measure_roof(roof, options));
    RoofLine line{roof, std::move(rates.isa), n_threads, summarize(std::move(rates.rates))};
    if (n_threads == options_.n_threads) measured_.push_back(line);
    return line;
  }

  // Of all threads, measured in this run: now, if it has not been yet.
  Result<double> roof_of_all_threads(ops::Roof roof) {
    const auto found = std::find_if(measured_.begin(), measured_.end(),
                                    [&](const RoofLine& line) { return line.roof == roof; });
    if (found != measured_.end()) return found->rate.median;
    T9_TRY(const RoofLine line, measure_roof(roof, options_.n_threads));
    return line.rate.median;
  }

  Status measure_model() {
    const engine::BenchPlan& plan = options_.plan;
    ops::BackendOptions backend_options;
    backend_options.n_threads = options_.n_threads;
    backend_options.max_rows = engine::kBenchSlice;
    backend_options.max_logit_rows = plan.max_rows();
    backend_options.max_pages = static_cast<uint32_t>(plan.n_pages());
    backend_options.max_states = 2 * plan.max_rows();
    backend_options.isa = options_.isa;
    std::vector<double> op_seconds;
    if (options_.parts) backend_options.op_seconds = &op_seconds;
    T9_TRY(const engine::BenchModel model,
           engine::build_bench_model(options_.model_path, backend_options));
    if (plan.max_length() > model.declared_length) {
      fmt::print(stderr, "tempo9: warning: {} tokens are more than the {} that the file declares\n",
                 plan.max_length(), model.declared_length);
    }
    double multiply_adds = 0, read = 0;
    if (!plan.prefill.empty()) {
      T9_TRY(multiply_adds, roof_of_all_threads(ops::Roof::kInt8Dots));
    }
    if (!plan.decode.empty()) {
      T9_TRY(read, roof_of_all_threads(ops::Roof::kRead));
    }
    say_unless_json(fmt::format("{}{}, {}, {} threads\n\n{}", options_.roofs ? "\n" : "",
                                gguf::printable(options_.model_path, 4096), model.backend->name(),
                                options_.n_threads, bench_head()));
    json_["results"] = nlohmann::ordered_json::array();
    const SteadyClock clock;
    engine::Bench bench(model.program, backend_options.kv_type, model.n_ids, model.backend.get(),
                        &clock, backend_options.op_seconds);
    return bench.run(plan, [&](const engine::BenchResult& result) {
      const bool is_prefill = result.kind == engine::BenchResult::Kind::kPrefill;
      const BenchLine line = bench_line(result, is_prefill ? multiply_adds : read);
      json_["results"].push_back(bench_json(line));
      say_unless_json(bench_text(line));
    });
  }

  BenchOptions options_;
  std::vector<RoofLine> measured_;  // of all threads
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

}  // namespace

int run_bench(const std::vector<std::string>& args, const Environment& environment) {
  auto parsed = parse_bench_options(args, environment);
  if (!parsed) {
    return report(parsed.error().message,
                  parsed.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure);
  }
  if (parsed->help) {
    fmt::print("{}", *parsed->help);
    return finish_output(kExitOk);
  }
  if (const Status done = Benchmark(std::move(parsed->options)).run(); !done)
    return report(done.error().message, kExitFailure);
  return finish_output(kExitOk);
}

}  // namespace tempo9::cli
