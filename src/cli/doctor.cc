// `tempo9 doctor`: this machine, a model on it, and the proof that it gives one text, always.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/cgroup.h"
#include "base/cpu_count.h"
#include "base/memory_limit.h"
#include "cli/cli.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/model.h"
#include "cli/doctor/places.h"
#include "cli/doctor/report.h"
#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "cli/sources.h"
#include "engine/determinism.h"

namespace tempo9::cli {
namespace {

constexpr const char* kRestartCase = "the prompt read from disk after a restart";

struct DoctorOptions {
  engine::EngineOptions engine;
  engine::DeterminismPlan plan;
  ModelAsked model;
  std::string memory;
  uint16_t port = 11435;
  bool determinism = false;
  bool json = false;
};

// A folder for the case that restarts; gone at the end.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    if (error) {
      trouble_ = fmt::format("no folder for temporary files: {}", error.message());
      return;
    }
    std::string path = (folder / "tempo9-doctor-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      trouble_ = fmt::format("{}: {}", folder.string(), std::strerror(errno));
    } else {
      path_ = path;
    }
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }
  const std::string& trouble() const { return trouble_; }  // why there is none

 private:
  std::string path_, trouble_;
};

// Gathers checks; on a terminal each is shown as soon as it is known.
class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void add(Check check) {
    line(text_of(check));
    checks_.push_back(std::move(check));
  }
  void line(const std::string& text) {
    if (json_) return;
    fmt::print("{}", text);
    std::fflush(stdout);
  }
  int finish() {
    if (json_) fmt::print("{}\n", json_of(checks_).dump(2, ' ', false, kReplace));
    return finish_output(worst(checks_) == Level::kFail ? kExitFailure : kExitOk);
  }

 private:
  // File names need not be UTF-8.
  static constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  bool json_;
  std::vector<Check> checks_;
};

void check_machine(const DoctorOptions& options, Report* report) {
  report->add(
      check_cpu(engine::kernel_tables(), options.engine.isa, read_small_file("/proc/cpuinfo")));
  report->add(check_threads(usable_cpus(), options.engine.n_threads));
  MachineMemory memory{.limit = memory_limit(), .available = available_memory()};
  memory.installed = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  report->add(check_memory(memory));
  report->add(check_gpu());
}

// The proof's own lines are as they come; the check at the end sums them up.
Check prove(const DoctorOptions& options, const std::string& path, Report* report) {
  Check check{.name = "determinism"};
  const Scratch scratch;
  engine::DeterminismPlan plan = options.plan;
  plan.disk_folder = scratch.path();
  engine::EngineOptions engine = options.engine;
  engine.model_path = path;
  auto cases = nlohmann::ordered_json::array();
  const auto equal = engine::try_determinism(engine, plan, [&](const engine::DeterminismCase& c) {
    const bool is_equal = c.n_different == 0;
    std::string text = fmt::format("{}  {}\n", is_equal ? "equal    " : "DIFFERENT", c.name);
    if (!is_equal) {
      text += fmt::format("           {} of {} replies differ, {}\n", c.n_different, c.n_replies,
                          c.first_difference);
    }
    report->line(text);
    cases.push_back({{"name", c.name},
                     {"replies", c.n_replies},
                     {"different", c.n_different},
                     {"first_difference", c.first_difference}});
  });
  auto left_out = nlohmann::ordered_json::array();
  if (equal && scratch.path().empty()) {
    left_out.push_back(kRestartCase);
    report->line(fmt::format("left out   {}: {}\n", kRestartCase, scratch.trouble()));
    check.level = Level::kWarn;
    check.expected = "a folder for temporary files, for the case that restarts";
    check.advice = "TMPDIR names another one";
  }
  check.details = {{"cases", cases}, {"left_out", left_out}};
  if (!equal) {
    check.level = Level::kFail;
    check.found = equal.error().message;
    check.expected = "a model that can be loaded and asked";
    check.advice = "see the lines above, or give a smaller --prompt";
  } else if (!*equal) {
    check.level = Level::kFail;
    check.found = "Replies differ, which is a fault of Tempo9";
    check.expected = "every reply equal, byte for byte";
    check.advice = "please report it";
  } else {
    check.found =
        left_out.empty()
            ? "One text, always: every reply was equal, byte for byte."
            : "every reply that was tried was equal, byte for byte; one case was left out";
  }
  return check;
}

void check_with_model(const DoctorOptions& options, const Environment& environment,
                      Report* report) {
  const bool asked = !options.model.name.empty() || !options.model.ollama.empty();
  std::optional<FoundModel> model;
  if (asked) {
    auto found = find_model(options.model, environment);
    if (!found) {
      report->add(check_no_model(options.model, found.error()));
    } else {
      model = *std::move(found);
    }
  }
  const bool is_remote = model && model->place == "remote";
  report->add(
      check_models_folder(models_folder(environment), is_remote ? model->file.file_bytes() : 0));
  if (!model) return;
  Check check = check_model(*model, options.engine);
  const bool is_served = check.level != Level::kFail;
  report->add(std::move(check));
  if (!options.determinism) return;
  if (is_served && !is_remote) {
    const std::string path = model->file.path();
    model.reset();  // its mapping is not needed twice
    report->add(prove(options, path, report));
    return;
  }
  report->add({.name = "determinism",
               .level = Level::kFail,
               .found = "not tried",
               .expected = is_remote ? "a model that is here" : "a model that fits",
               .advice = is_remote ? fmt::format("`tempo9 pull {}` first", model->name)
                                   : "see the line above"});
}

Status read_options(DoctorOptions* options, const Environment& environment) {
  options->engine.isa = environment.isa.value_or("");
  if (!options->memory.empty()) {
    T9_TRY(options->engine.memory_bytes, parse_bytes(options->memory));
  }
  if (options->engine.n_threads == 0 && environment.threads) {
    T9_TRY(options->engine.n_threads, threads_from_environment(*environment.threads));
  }
  if (!options->model.name.empty() && !options->model.ollama.empty()) {
    return usage_error(fmt::format("found two models, {} and --ollama {}, expected one",
                                   options->model.name, options->model.ollama));
  }
  if (options->determinism && options->model.name.empty() && options->model.ollama.empty()) {
    return usage_error(
        "--determinism: found no model, expected `tempo9 doctor --determinism F.gguf`");
  }
  return kv_offload_from_environment(environment, &options->engine);
}

void add_flags(CLI::App* app, DoctorOptions* options) {
  app->add_option("model,--gguf", options->model.name,
                  "a file, a model of Tempo9's or Ollama's store, or one that could be pulled: "
                  "only the beginning of its files is fetched then")
      ->type_name("MODEL");
  app->add_option("--ollama", options->model.ollama, "a model of Ollama's store")
      ->type_name("NAME[:TAG]");
  app->add_option("--mirror", options->model.mirror,
                  "ask this address about models that are not here; it gets no token")
      ->type_name("URL");
  app->add_option("--max-length", options->engine.max_length,
                  "context in tokens (default: the smaller of 32768 and the file's)")
      ->check(CLI::Range(1u, 1u << 24))
      ->type_name("N");
  app->add_option("--kv-type", options->engine.kv_type, "type of the KV cache (default i16)")
      ->check(CLI::IsMember({"i16", "q8_0", "f16", "f32"}))
      ->type_name("T");
  app->add_option("--memory", options->memory, "cap on memory, like 6G (default: none)")
      ->type_name("SIZE");
  app->add_option("--threads", options->engine.n_threads,
                  "compute threads (default: all that may be used)")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
  app->add_option("--port", options->port, "port to look at (default 11435)")
      ->check(CLI::Range(1, 65535))
      ->type_name("N");
  app->add_flag("--determinism", options->determinism,
                "one greedy and one seeded reply: alone, beside others, with parts of the prompt "
                "cached, read from disk, in other slices, on other numbers of threads");
  app->add_option("--prompt", options->plan.n_prompt, "its tokens of prompt (default 700)")
      ->check(CLI::Range(8u, 100'000u))
      ->type_name("N");
  app->add_flag("--json", options->json, "print JSON");
}

}  // namespace

int run_doctor(const std::vector<std::string>& args, const Environment& environment) {
  DoctorOptions options;
  CLI::App app("Checks this machine, and whether a model fits it. Nothing is loaded or changed.",
               "tempo9 doctor");
  add_flags(&app, &options);
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(goes_on.error().message, kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (const Status read = read_options(&options, environment); !read) {
    return report(read.error().message,
                  read.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure);
  }
  Report checks(options.json);
  check_machine(options, &checks);
  checks.add(check_kv_disk(options.engine.kv_folder, options.engine.kv_disk_bytes));
  checks.add(check_port(options.port));
  checks.add(check_ollama(ollama_folder(environment)));
  check_with_model(options, environment, &checks);
  return checks.finish();
}

}  // namespace tempo9::cli
