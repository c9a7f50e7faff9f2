#include "cli/bench_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "engine/build.h"

namespace tempo9::cli {
namespace {

constexpr uint32_t kMaxTokens = 1u << 20;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxRepeats = 1000;

constexpr const char* kBenchFooter =
    "tok/s are medians, with the range of the repeats; for several rows their sum. Share of roof: "
    "of "
    "this machine's\n"
    "int8 multiply-adds for prefill, of its read bandwidth for decode, both measured in the same "
    "run (docs/performance.md).\n"
    "Environment: TEMPO9_THREADS (as --threads), TEMPO9_CPU_ISA (force a kernel table).";

std::optional<uint32_t> whole_number(std::string_view text, uint32_t lowest, uint32_t highest) {
  uint32_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < lowest || value > highest) return std::nullopt;
  return value;
}

// What was typed, before it is checked.
struct Texts {
  std::optional<std::string> prefill, decode, rows, depth, threads, repeat;
};

Status read_plan(const Texts& texts, engine::BenchPlan* plan) {
  if (texts.prefill) {
    T9_TRY(plan->prefill, parse_numbers("--prefill", *texts.prefill, 1, kMaxTokens));
  }
  if (texts.decode) {
    T9_TRY(plan->decode, parse_numbers("--decode", *texts.decode, 1, kMaxTokens));
  }
  if (plan->prefill.empty() && plan->decode.empty()) {
    plan->prefill = {512};
    plan->decode = {128};
  }
  if (texts.rows) {
    T9_TRY(plan->rows, parse_numbers("--rows", *texts.rows, 1, engine::kMaxBatch));
  }
  if (texts.depth) {
    T9_TRY(plan->depth, parse_number("--depth", *texts.depth, 0, kMaxTokens));
  }
  if (texts.repeat) {
    T9_TRY(plan->n_repeats, parse_number("--repeat", *texts.repeat, 1, kMaxRepeats));
  }
  if (plan->decode.empty()) {
    const char* flag = texts.rows ? "--rows" : texts.depth ? "--depth" : nullptr;
    if (flag != nullptr) {
      return usage_error(fmt::format(
          "{}: found it without --decode, and it concerns decoding only; give --decode N", flag));
    }
  }
  return {};
}

// Flags that say nothing without a model.
Status check_roofs_alone(const Texts& texts) {
  const std::pair<const char*, bool> flags[] = {{"--prefill", texts.prefill.has_value()},
                                                {"--decode", texts.decode.has_value()},
                                                {"--rows", texts.rows.has_value()},
                                                {"--depth", texts.depth.has_value()}};
  for (const auto& [flag, given] : flags) {
    if (given) {
      return usage_error(
          fmt::format("{}: found no model to measure; give --gguf F.gguf with it", flag));
    }
  }
  return {};
}

}  // namespace

Result<uint32_t> parse_number(std::string_view flag, std::string_view text, uint32_t lowest,
                              uint32_t highest) {
  if (const auto value = whole_number(text, lowest, highest)) return *value;
  return make_error(ErrorCode::kInvalidArgument,
                    "{}: found \"{}\", expected a whole number from {} to {}", flag, text, lowest,
                    highest);
}

Result<std::vector<uint32_t>> parse_numbers(std::string_view flag, std::string_view text,
                                            uint32_t lowest, uint32_t highest) {
  std::vector<uint32_t> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto value = whole_number(text.substr(begin, end - begin), lowest, highest);
    if (!value) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "{}: found \"{}\", expected whole numbers from {} to {} with commas between them", flag,
          text, lowest, highest);
    }
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

Result<ParsedBench> parse_bench_options(const std::vector<std::string>& args,
                                        const Environment& environment) {
  ParsedBench parsed;
  BenchOptions& options = parsed.options;
  std::string positional;
  Texts texts;

  CLI::App app("Measures how fast a model reads and writes here, and what this machine could do.",
               "tempo9 bench");
  app.footer(kBenchFooter);
  app.allow_extras();
  app.add_option("model", positional, "the model file")->type_name("F.gguf");
  app.add_option("--gguf", options.model_path, "the model file (any shard of a split one)")
      ->type_name("F");
  app.add_option("--prefill", texts.prefill, "lengths of prompts, in tokens, such as 512,4096")
      ->type_name("N,...");
  app.add_option("--decode", texts.decode, "lengths of replies, in tokens, such as 128")
      ->type_name("N,...");
  app.add_option("--rows", texts.rows, "replies written together, such as 1,8 (default 1)")
      ->type_name("N,...");
  app.add_option("--depth", texts.depth, "tokens of context before each reply (default 0)")
      ->type_name("N");
  app.add_option("--threads", texts.threads,
                 "compute threads (default: by affinity and cgroup quota)")
      ->type_name("N");
  app.add_option("--repeat", texts.repeat, "times that each is measured (default 5)")
      ->type_name("N");
  app.add_flag("--roofs", options.roofs,
               "measure the machine: int8 and f32 multiply-adds, read bandwidth");
  app.add_flag("--parts", options.parts, "show where a model's time goes, by kind of operation");
  app.add_flag("--json", options.json, "print JSON");

  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return usage_error(fmt::format("bench: {}", goes_on.error().message));
  if (!*goes_on) {
    parsed.help = app.help();
    return parsed;
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    const std::vector<std::string> flags = flag_names(app);
    const Error unknown = unknown_argument(
        extras.front(), flags, fmt::format(", expected one of {}", fmt::join(flags, ", ")));
    return usage_error(fmt::format("bench: {}", unknown.message));
  }
  if (!positional.empty() && !options.model_path.empty()) {
    return usage_error(fmt::format("bench: found two model files, --gguf {} and {}, expected one",
                                   options.model_path, positional));
  }
  if (!positional.empty()) options.model_path = positional;
  if (options.model_path.empty() && !options.roofs) {
    return usage_error(
        "bench: nothing to measure: give a model, as in `tempo9 bench --gguf F.gguf`, or --roofs "
        "for the machine alone");
  }
  T9_TRY(read_plan(texts, &options.plan));
  if (options.model_path.empty()) T9_TRY(check_roofs_alone(texts));
  if (texts.threads) {
    T9_TRY(options.n_threads, parse_number("--threads", *texts.threads, 1, kMaxThreads));
  } else if (environment.threads) {
    T9_TRY(options.n_threads, threads_from_environment(*environment.threads));
  }
  options.isa = environment.isa.value_or("");
  return parsed;
}

}  // namespace tempo9::cli
