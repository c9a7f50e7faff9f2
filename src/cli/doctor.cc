// `tempo9 doctor --determinism`: the same requests in many circumstances, and the same bytes.
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "engine/determinism.h"

namespace tempo9::cli {
namespace {

// A folder for the case that restarts; gone at the end.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    std::string path =
        (std::filesystem::temp_directory_path(error) / "tempo9-doctor-XXXXXX").string();
    if (!error && ::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void print_case(const engine::DeterminismCase& result) {
  const bool equal = result.n_different == 0;
  fmt::print("{}  {}\n", equal ? "equal    " : "DIFFERENT", result.name);
  if (!equal) {
    fmt::print("           {} of {} replies differ, {}\n", result.n_different, result.n_replies,
               result.first_difference);
  }
  std::fflush(stdout);
}

}  // namespace

int run_doctor(const std::vector<std::string>& args, const Environment& environment) {
  engine::EngineOptions options;
  engine::DeterminismPlan plan;
  bool determinism = false;
  CLI::App app("Checks a model on this machine.", "tempo9 doctor");
  app.add_option("model,--gguf", options.model_path, "the model file")->type_name("F.gguf");
  app.add_flag("--determinism", determinism,
               "one greedy and one seeded reply: alone, beside others, with parts of the prompt "
               "cached, read from disk, in other slices, on other numbers of threads");
  app.add_option("--threads", options.n_threads, "compute threads (default: all that may be used)")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
  app.add_option("--kv-type", options.kv_type, "type of the KV cache (default i16)")
      ->type_name("T");
  app.add_option("--prompt", plan.n_prompt, "tokens of the prompt (default 700)")
      ->check(CLI::Range(8u, 100'000u))
      ->type_name("N");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(goes_on.error().message, kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (options.model_path.empty() || !determinism) {
    return report("found no model or no check, expected `tempo9 doctor --determinism F.gguf`",
                  kExitUsage);
  }
  options.isa = environment.isa.value_or("");
  const Scratch scratch;
  plan.disk_folder = scratch.path();
  const auto equal = engine::try_determinism(options, plan, print_case);
  if (!equal) return report(equal.error().message, kExitFailure);
  fmt::print("{}\n", *equal ? "One text, always: every reply was equal, byte for byte."
                            : "Replies differ, which is a fault of Tempo9: please report it.");
  return finish_output(*equal ? kExitOk : kExitFailure);
}

}  // namespace tempo9::cli
