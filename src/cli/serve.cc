// `tempo9 serve`: check the file, open the port, load, serve, drain.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/refused_memory.h"
#include "chat/parser.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/show_text.h"
#include "cli/text_file.h"
#include "engine/engine.h"
#include "gguf/gguf.h"
#include "models/models.h"
#include "server/server.h"
#include "store/ollama.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Running replies get this long after the first signal. With the end of the process behind it, all
// are gone in 10 s.
constexpr std::chrono::milliseconds kDrainTime{6'000};
constexpr std::chrono::milliseconds kFailTime{1'000};  // likewise, when the engine has failed
constexpr std::chrono::milliseconds kDrainPoll{20};
constexpr std::chrono::milliseconds kEndTime{3'500};
constexpr size_t kMaxTemplateBytes = 16 << 20;

// Folders read as nothing, devices without end.
Status check_regular(const std::string& flag, const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return make_error(ErrorCode::kIo, "{}: cannot open {}: {}", flag, path,
                      error ? error.message() : "there is no such file");
  }
  if (!std::filesystem::is_regular_file(status)) {
    return make_error(ErrorCode::kIo, "{}: found {}, which is no regular file", flag, path);
  }
  return {};
}

Result<std::string> read_template(const std::string& flag, const std::string& path) {
  T9_TRY(check_regular(flag, path));
  std::error_code ignored;
  if (const auto size = std::filesystem::file_size(path, ignored); size > kMaxTemplateBytes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: found {} bytes in {}, expected a template of 1 to {}", flag, size, path,
                      kMaxTemplateBytes);
  }
  T9_TRY(std::string text, read_text_file(flag, path));
  if (text.empty() || text.size() > kMaxTemplateBytes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: found {} bytes in {}, expected a template of 1 to {}", flag, text.size(),
                      path, kMaxTemplateBytes);
  }
  return text;
}

// What can be known of a file without reading its weights, so that a bad one is refused before the
// port opens.
Status check_model(const engine::EngineOptions& options) {
  if (options.model_path.empty()) return {};
  T9_TRY(const gguf::File file, gguf::File::open(options.model_path));
  T9_TRY(auto vocab, tokenizer::read_vocab(file));
  T9_TRY(tokenizer::make_tokenizer(std::move(vocab)));
  if (options.script_path.empty()) T9_TRY(models::build_program(file));
  return {};
}

Status check_script_formats(const engine::Engine& engine, const std::string& path) {
  const std::vector<std::string_view> known = chat::format_names();
  for (const auto& format : engine.info().script_formats) {
    if (std::find(known.begin(), known.end(), format.name) == known.end()) {
      return make_error(ErrorCode::kCorrupt, "{}:{}: format: found \"{}\", expected one of {}",
                        path, format.line, format.name, fmt::join(known, ", "));
    }
  }
  return {};
}

// A file that another program cuts while it is mapped has no bytes to give, and the system says so
// with this signal. There is no way back into the read: the process ends, but not without a word.
extern "C" void end_on_bus_error(int) {
  constexpr std::string_view kMessage =
      "tempo9: a model file was cut or changed while it was being read (SIGBUS); write a new file "
      "beside the old one and rename it, and start again\n";
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::_Exit(kExitFailure);
}

// Whatever still holds on (a model that is being loaded again, a disk that does not answer) has no
// more time than this behind the drain.
void end_within(std::chrono::milliseconds limit, int exit_code) {
  std::thread([limit, exit_code] {
    std::this_thread::sleep_for(limit);
    std::_Exit(exit_code);
  }).detach();
}

class Serving {
 public:
  explicit Serving(ServeOptions options)
      : options_(std::move(options)), signals_(loop_), timer_(loop_) {}

  ~Serving() {
    if (loader_.joinable()) loader_.join();
    if (server_ != nullptr) server_->stop();
    engine_.reset();
  }

  Status start() {
    error_code error;
    signals_.add(SIGINT, error);
    signals_.add(SIGTERM, error);
    // A closed terminal ends the server as tidily; what nohup started goes on.
    struct sigaction hangup = {};
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
      signals_.add(SIGHUP, error);
    if (!options_.chat_template_file.empty()) {
      T9_TRY(service_.template_source,
             read_template("--chat-template-file", options_.chat_template_file));
    }
    service_.name = options_.name;
    service_.format = options_.tool_parser;
    service_.log = [log = options_.server.log](const std::string& message) {
      log->write(server::LogLevel::kWarning, message);
    };
    options_.engine.log = service_.log;
    options_.engine.on_failure = [this](const std::string& why) { on_engine_failure(why); };
    T9_TRY(check_model(options_.engine));
    if (!options_.engine.script_path.empty()) {
      T9_TRY(check_regular("--script", options_.engine.script_path));
      // Nothing to wait for: a bad script is refused before the port opens, too.
      T9_TRY(engine_, engine::Engine::create(options_.engine));
      T9_TRY(check_script_formats(*engine_, options_.engine.script_path));
    }
    T9_TRY(server_, server::Server::open(options_.server));
    if (engine_ != nullptr) return serve();
    loader_ = std::thread([this] { load(); });
    return {};
  }

  int run() {
    wait_for_signal();
    run_loop();
    if (draining_) end_within(kEndTime, failure_ ? kExitFailure : kExitOk);
    if (failure_) {
      fmt::print(stderr, "tempo9: {}\n", failure_->message);
      return kExitFailure;
    }
    return kExitOk;
  }

 private:
  // Loader thread.
  void load() {
    auto engine = std::make_shared<Result<std::unique_ptr<engine::Engine>>>(
        Error{ErrorCode::kInternal, "not loaded"});
    try {
      *engine = engine::Engine::create(options_.engine);
    } catch (const std::exception& error) {
      *engine = make_error(ErrorCode::kResourceExhausted, "loading {}: {}",
                           options_.engine.model_path, error.what());
    }
    asio::post(loop_, [this, engine] {
      Status status;
      if (*engine) {
        engine_ = std::move(**engine);
        status = serve();
      } else {
        status = engine->error();
      }
      if (!status) {
        failure_ = status.error();
        end();
      }
    });
  }

  // Engine thread. Its requests have ended; what their clients are told gets the time to leave.
  void on_engine_failure(const std::string& why) {
    try {
      asio::post(loop_, [this, why] {
        failure_ = make_error(ErrorCode::kInternal, "the engine failed: {}", why);
        if (!draining_) drain(kFailTime);
      });
    } catch (const std::exception&) {
      constexpr std::string_view kMessage = "tempo9: the engine failed: no memory is left\n";
      [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
      std::_Exit(kExitFailure);
    }
  }

  Status serve() {
    T9_TRY(auto service, server::Service::create(*engine_, service_));
    const engine::ModelInfo& info = engine_->info();
    for (const std::string& warning : {info.warning, service->warning()}) {
      if (!warning.empty()) service_.log(warning);
    }
    server_->set_ready(service);
    fmt::print("tempo9 {}: {} on {}, {} threads, context {}, {}{}\n", T9_VERSION, service->name(),
               info.backend, info.n_threads, info.max_length, server_->url(),
               options_.server.unix_socket.empty() ? "/v1" : "");
    std::fflush(stdout);
    options_.server.log->write(server::LogLevel::kInfo, "ready",
                               {{"model", service->name()}, {"listens", server_->url()}});
    return {};
  }

  void wait_for_signal() {
    signals_.async_wait([this](error_code error, int signal) {
      if (error) return;
      if (engine_ == nullptr) {
        // The loader cannot be interrupted, and has written nothing that matters.
        std::fflush(nullptr);
        std::_Exit(kExitOk);
      }
      // The second one means now, but a terminal and its shell may both say that it closes.
      if (draining_) return signal == SIGHUP ? wait_for_signal() : end();
      drain(kDrainTime);
      wait_for_signal();
    });
  }

  // A drain that lost its timer (there was no memory for it) is over.
  void run_loop() {
    while (!loop_.stopped()) {
      try {
        loop_.run();
      } catch (const std::exception&) {
        if (draining_) return;
      }
    }
  }

  void drain(std::chrono::milliseconds limit) {
    draining_ = true;
    options_.server.log->write(server::LogLevel::kInfo, "draining",
                               {{"limit_seconds", limit.count() / 1000}});
    server_->begin_drain();
    drain_end_ = std::chrono::steady_clock::now() + limit;
    poll_drain();
  }

  void poll_drain() {
    if (server_->idle() || std::chrono::steady_clock::now() >= drain_end_) return end();
    timer_.expires_after(kDrainPoll);
    timer_.async_wait([this](error_code error) {
      if (!error) poll_drain();
    });
  }

  void end() { loop_.stop(); }

  ServeOptions options_;
  server::Service::Options service_;
  asio::io_context loop_;  // main thread: signals, the loader's result, draining
  asio::signal_set signals_;
  asio::steady_timer timer_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<engine::Engine> engine_;
  std::thread loader_;
  std::optional<Error> failure_;
  bool draining_ = false;
  std::chrono::steady_clock::time_point drain_end_;
};

int list_ollama_models(const std::string& folder) {
  const std::vector<store::OllamaModel> models = store::list_ollama(folder);
  if (models.empty()) {
    return report(fmt::format("no model in Ollama's store {} (OLLAMA_MODELS moves it)", folder),
                  kExitFailure);
  }
  size_t width = 0;
  for (const auto& model : models) width = std::max(width, model.name.size());
  for (const auto& model : models) {
    fmt::print("{:<{}}  {:>10}  {}\n", model.name, width, byte_size(model.n_bytes), model.path);
  }
  return finish_output(kExitOk);
}

}  // namespace

int run_serve(const std::vector<std::string>& args, const Environment& environment) {
  auto parsed = parse_serve_options(args, environment);
  if (!parsed) {
    return report(parsed.error().message,
                  parsed.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure);
  }
  if (parsed->help) {
    fmt::print("{}", *parsed->help);
    return finish_output(kExitOk);
  }
  if (parsed->list_ollama) return list_ollama_models(ollama_folder(environment));
  for (const std::string& name : environment.unknown) {
    fmt::print(stderr,
               "tempo9: warning: {} in the environment is not known; the known ones are {}\n", name,
               fmt::join(kVariables, ", "));
  }
  wait_when_memory_is_refused();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGBUS, end_on_bus_error);
  Serving serving(std::move(parsed->options));
  if (const Status started = serving.start(); !started)
    return report(started.error().message, kExitFailure);
  return serving.run();
}

}  // namespace tempo9::cli
