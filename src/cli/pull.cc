// tempo9 pull, list, rm: models of our own store.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "cli/cli.h"
#include "cli/known.h"
#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "cli/show_text.h"
#include "cli/sources.h"
#include "models/models.h"
#include "store/download.h"
#include "store/own_store.h"
#include "store/source.h"

namespace tempo9::cli {
namespace {

using Clock = std::chrono::steady_clock;

// One line on a terminal, drawn again and again; elsewhere a line for each tenth.
class ProgressLine {
 public:
  ProgressLine(std::string name, uint64_t n_bytes)
      : name_(std::move(name)), n_bytes_(n_bytes), is_terminal_(::isatty(STDERR_FILENO) != 0) {}

  void show(uint64_t n_done) {
    const auto now = Clock::now();
    // Fewer than at first: without ranges it starts again.
    if (n_first_ == kNone || n_done < n_first_) n_first_ = n_done, began_ = now;
    const uint64_t percent = n_bytes_ == 0 ? 100 : n_done * 100 / n_bytes_;
    if (is_terminal_) {
      const bool is_last = n_done == n_bytes_;
      if (!is_last && now - drawn_ < std::chrono::milliseconds(100)) return;
      drawn_ = now;
      const std::string bar(percent / 4, '#');
      fmt::print(stderr, "\r{}  [{:<25}] {:>3} %  {} of {}  {}\x1b[K{}", name_, bar, percent,
                 byte_size(n_done), byte_size(n_bytes_), pace(n_done, now), is_last ? "\n" : "");
    } else if (percent / 10 != shown_tenth_) {
      shown_tenth_ = percent / 10;
      fmt::print(stderr, "{}  {} %  {}\n", name_, percent, pace(n_done, now));
    }
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  std::string pace(uint64_t n_done, Clock::time_point now) const {
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const double rate = seconds > 0 ? static_cast<double>(n_done - n_first_) / seconds : 0;
    if (rate < 1) return "";
    const auto left = static_cast<uint64_t>(static_cast<double>(n_bytes_ - n_done) / rate);
    return fmt::format("{}/s, {}:{:02} left", byte_size(static_cast<uint64_t>(rate)), left / 60,
                       left % 60);
  }

  std::string name_;
  uint64_t n_bytes_;
  bool is_terminal_;
  uint64_t n_first_ = kNone, shown_tenth_ = 0;
  Clock::time_point began_, drawn_;
};

struct PullOptions {
  std::string name;
  std::string mirror;
  unsigned n_connections = 4;
};

Status fetch(const store::RemoteModel& model, const std::string& folder, unsigned n_connections) {
  for (const store::RemoteFile& file : model.files) {
    ProgressLine line(file.name, file.n_bytes);
    store::Download what{.url = file.url,
                         .headers = model.headers,
                         .path = folder + "/" + file.name,
                         .n_bytes = file.n_bytes,
                         .sha256 = file.sha256,
                         .n_connections = n_connections,
                         .progress = [&line](uint64_t n_done) { line.show(n_done); }};
    T9_TRY(store::download(what));
  }
  return {};
}

Result<store::OwnModel> pull(const PullOptions& options, const Environment& environment) {
  const store::OwnStore own(models_folder(environment));
  T9_TRY(const auto model,
         store::find_remote(options.name, source_options(options.mirror, environment)));
  if (auto there = own.find(model.name)) return *std::move(there);
  T9_TRY(const std::string folder, own.prepare(model));
  T9_TRY(fetch(model, folder, options.n_connections));
  return own.finish(model);
}

int list_known() {
  const Status printed = print_known_models();
  return printed ? finish_output(kExitOk) : report(printed.error().message, kExitFailure);
}

int exit_code_of(const Error& error) {
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure;
}

}  // namespace

int run_pull(const std::vector<std::string>& args, const Environment& environment) {
  PullOptions options;
  CLI::App app("Fetches a model into " + models_folder(environment) +
                   ", going on where an earlier fetch broke off, and checks its hash.",
               "tempo9 pull");
  app.add_option("model", options.name,
                 "owner/repo[:variant] of Hugging Face, or name[:tag] of Ollama's library; without "
                 "one, models that are known to work are listed")
      ->type_name("MODEL[:VARIANT]");
  app.add_option("--mirror", options.mirror,
                 "ask this address in place of huggingface.co and registry.ollama.ai; it gets no "
                 "token")
      ->type_name("URL");
  app.add_option("--connections", options.n_connections, "at once (default 4)")
      ->check(CLI::Range(1u, 16u))
      ->type_name("N");
  app.footer(
      "Environment: HF_TOKEN, HF_TOKEN_PATH, HF_HOME (a token for private and gated models), "
      "HF_ENDPOINT,\nXDG_DATA_HOME.");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(goes_on.error().message, kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (app.count("model") == 0) return list_known();
  const auto model = pull(options, environment);
  if (!model) return report(model.error().message, exit_code_of(model.error()));
  fmt::print("{}  {}  {}\nServe it: tempo9 serve {}\n", model->name, byte_size(model->n_bytes),
             model->path, model->name);
  return finish_output(kExitOk);
}

int run_list(const std::vector<std::string>& args, const Environment& environment) {
  bool known = false, architectures = false;
  CLI::App app("Lists the models that `tempo9 pull` fetched.", "tempo9 list");
  app.add_flag("--known", known,
               "models that are known to work, their memory, and whether they fit this machine");
  app.add_flag("--architectures", architectures,
               "the values of general.architecture that run, one a line");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(goes_on.error().message, kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (known) return list_known();
  if (architectures) {
    fmt::print("{}\n", fmt::join(models::known_architectures(), "\n"));
    return finish_output(kExitOk);
  }
  const auto models = store::OwnStore(models_folder(environment)).list();
  if (models.empty()) fmt::print(stderr, "no models yet; `tempo9 pull` fetches one\n");
  size_t width = 0;
  for (const auto& model : models) width = std::max(width, model.name.size());
  for (const auto& model : models) {
    fmt::print("{:<{}}  {:>10}  {}\n", model.name, width, byte_size(model.n_bytes), model.path);
  }
  return finish_output(kExitOk);
}

int run_rm(const std::vector<std::string>& args, const Environment& environment) {
  std::string name;
  CLI::App app(
      "Removes a model that `tempo9 pull` fetched, or what is there of one that broke off. Other "
      "stores are not touched.",
      "tempo9 rm");
  app.add_option("model", name, "as `tempo9 list` shows it")->required()->type_name("NAME");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(goes_on.error().message, kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  const auto removed = store::OwnStore(models_folder(environment)).remove(name);
  if (!removed) return report(removed.error().message, exit_code_of(removed.error()));
  fmt::print("removed {}, {}\n", removed->name, byte_size(removed->n_bytes));
  return finish_output(kExitOk);
}

}  // namespace tempo9::cli
