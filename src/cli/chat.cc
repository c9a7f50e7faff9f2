// tempo9 run: a conversation with a model, in the terminal.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "engine/engine.h"
#include "server/chat_job.h"
#include "server/reply_parser.h"
#include "server/service.h"

namespace tempo9::cli {
namespace {

constexpr const char* kHelp =
    "  \"\"\"            begins and ends a message of several lines\n"
    "  /clear         forget the conversation\n"
    "  /system TEXT   what the model is told before it (alone: nothing)\n"
    "  /think, /nothink\n"
    "  /bye           leave (Ctrl-D does, too); Ctrl-C stops a reply\n";

// Control characters of a reply would move the cursor or worse.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t') out += c;
  }
  return out;
}

// Interrupts wait until somebody looks for them: a reply then stops, and nothing else does.
class Interrupts {
 public:
  Interrupts() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // threads made later have it, too
  }
  bool take() const {
    const timespec none{};
    bool any = false;
    while (::sigtimedwait(&set_, nullptr, &none) == SIGINT) any = true;
    return any;
  }

 private:
  sigset_t set_{};
};

// Events of one reply, from the engine's thread to this one.
class Events {
 public:
  engine::EventSink sink() {
    return [this](engine::Event&& event) {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(event));
      changed_.notify_one();
    };
  }
  std::optional<engine::Event> next(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [this] { return !queue_.empty(); })) return std::nullopt;
    engine::Event event = std::move(queue_.front());
    queue_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<engine::Event> queue_;
};

struct ChatOptions {
  std::string system, prompt;
  float temperature = 0.7f;
  bool thinks = true;
};

class Chat {
 public:
  Chat(engine::Engine& engine, std::shared_ptr<const server::Service> service, ChatOptions options)
      : engine_(engine),
        service_(std::move(service)),
        options_(std::move(options)),
        is_terminal_(::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0) {}

  int once(const std::string& text) {
    const Status done = answer(text);
    return done ? finish_output(kExitOk) : report(done.error().message, kExitFailure);
  }

  int talk() {
    fmt::print("{}. /help tells the commands.\n", service_->name());
    while (const auto text = read_message()) {
      interrupts_.take();  // those at the prompt: the terminal has dropped the line already
      if (text->empty()) continue;
      if (text->starts_with('/')) {
        if (!obey(*text)) break;
      } else if (const Status done = answer(*text); !done) {
        report(done.error().message, kExitFailure);
      }
    }
    fmt::print("\n");
    return finish_output(kExitOk);
  }

 private:
  static std::optional<std::string> read_line(const char* mark) {
    fmt::print("{}", mark);
    std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }

  static std::optional<std::string> read_message() {
    constexpr std::string_view kQuotes = "\"\"\"";
    auto text = read_line(">>> ");
    if (!text || !text->starts_with(kQuotes)) return text;
    text->erase(0, kQuotes.size());
    while (!text->ends_with(kQuotes)) {
      const auto line = read_line("... ");
      if (!line) return text;
      *text += "\n" + *line;
    }
    text->erase(text->size() - kQuotes.size());
    return text;
  }

  // False: leave.
  bool obey(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = word == line ? "" : line.substr(word.size() + 1);
    if (word == "/bye" || word == "/exit" || word == "/quit") return false;
    if (word == "/clear") {
      messages_.clear();
    } else if (word == "/system") {
      options_.system = rest;
    } else if (word == "/think" || word == "/nothink") {
      options_.thinks = word == "/think";
    } else {
      if (word != "/help" && word != "/?") fmt::print("{}: no such command\n", printable(word));
      fmt::print("{}", kHelp);
    }
    return true;
  }

  Result<server::ChatJob> prepare(const std::string& text) const {
    chat::RenderInput input;
    if (!options_.system.empty()) input.messages.push_back(message("system", options_.system));
    input.messages.insert(input.messages.end(), messages_.begin(), messages_.end());
    input.messages.push_back(message("user", text));
    if (!options_.thinks) input.template_kwargs["enable_thinking"] = false;
    server::ChatJob job;
    job.request.sampling.temperature = options_.temperature;
    job.parser.parser.split_thinking = true;
    T9_TRY(server::prepare_chat(*service_, std::move(input), {}, true, &job));
    return job;
  }

  static chat::Message message(const char* role, std::string text) {
    chat::Message message;
    message.role = role;
    message.text = std::move(text);
    return message;
  }

  Status answer(const std::string& text) {
    T9_TRY(server::ChatJob job, prepare(text));
    server::ReplyParser parser(*service_, job.parser);
    Events events;
    T9_TRY(const engine::RequestId id, engine_.submit(std::move(job.request), events.sink()));
    chat::Message reply = message("assistant", "");
    Status status;
    for (bool ended = false; !ended;) {
      if (interrupts_.take()) engine_.cancel(id);
      const auto event = events.next(std::chrono::milliseconds(50));
      if (!event) continue;
      std::vector<chat::Event> parts;
      parser.feed(*event, &parts);
      for (const chat::Event& part : parts) show(part, &reply);
      ended = event->finish.has_value();
      if (ended && event->finish->error) status = *event->finish->error;
    }
    dim(false);
    fmt::print("\n");
    std::fflush(stdout);
    messages_.push_back(message("user", text));
    messages_.push_back(std::move(reply));
    return status;
  }

  void show(const chat::Event& part, chat::Message* reply) {
    if (const auto* thought = std::get_if<chat::ReasoningDelta>(&part)) {
      reply->reasoning_content += thought->text;
      if (!is_terminal_) return;  // a file or a pipe gets the answer
      dim(true);
      fmt::print("{}", printable(thought->text));
    } else if (const auto* said = std::get_if<chat::TextDelta>(&part)) {
      reply->text += said->text;
      dim(false);
      fmt::print("{}", is_terminal_ ? printable(said->text) : said->text);
    }
    std::fflush(stdout);
  }

  void dim(bool on) {
    if (!is_terminal_ || on == is_dim_) return;
    is_dim_ = on;
    fmt::print("{}", on ? "\x1b[2m" : "\x1b[0m\n");
  }

  engine::Engine& engine_;
  std::shared_ptr<const server::Service> service_;
  ChatOptions options_;
  bool is_terminal_;
  bool is_dim_ = false;
  Interrupts interrupts_;
  std::vector<chat::Message> messages_;
};

int chat_with(ServeOptions model, ChatOptions options) {
  const Interrupts before_the_engine;  // whose threads leave them to this one
  const auto engine = engine::Engine::create(model.engine);
  if (!engine) return report(engine.error().message, kExitFailure);
  server::Service::Options service_options;
  service_options.name = model.name;
  const auto service = server::Service::create(**engine, service_options);
  if (!service) return report(service.error().message, kExitFailure);
  std::string prompt = options.prompt;
  const bool talks = prompt.empty() && ::isatty(STDIN_FILENO) != 0;
  if (prompt.empty() && !talks) {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  Chat chat(**engine, *service, std::move(options));
  return talks ? chat.talk() : chat.once(prompt);
}

}  // namespace

int run_chat(const std::vector<std::string>& args, const Environment& environment) {
  ChatOptions options;
  std::string model, script, threads, max_length;
  bool no_think = false;
  CLI::App app(
      "A conversation with a model, in the terminal. With a prompt, or text on standard input, one "
      "reply.",
      "tempo9 run");
  app.add_option("model", model, "a model file, or one that `tempo9 pull` fetched")
      ->type_name("MODEL");
  app.add_option("prompt", options.prompt, "what to ask")->type_name("PROMPT");
  app.add_option("--system", options.system, "what the model is told first")->type_name("TEXT");
  app.add_option("--temperature", options.temperature, "0: always the likeliest (default 0.7)")
      ->check(CLI::Range(0.0f, 100.0f))
      ->type_name("T");
  app.add_flag("--no-think", no_think, "ask models that think to answer at once");
  app.add_option("--threads", threads, "as for serve")->type_name("N");
  app.add_option("--max-length", max_length, "as for serve")->type_name("N");
  app.add_option("--script", script, "replies from this file in place of a model")->type_name("F");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(goes_on.error().message, kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  options.thinks = !no_think;
  if (!script.empty() && options.prompt.empty()) std::swap(model, options.prompt);
  if (model.empty() && script.empty()) {
    return report(
        "run: no model: give a file or the name of one that was fetched (`tempo9 list`), as in "
        "`tempo9 run F.gguf`",
        kExitUsage);
  }
  std::vector<std::string> serve_args;
  if (!model.empty()) serve_args.push_back(model);
  for (const auto& [flag, value] : {std::pair<const char*, std::string&>("--threads", threads),
                                    {"--max-length", max_length},
                                    {"--script", script}}) {
    if (!value.empty()) serve_args.insert(serve_args.end(), {flag, value});
  }
  auto parsed = parse_serve_options(serve_args, environment);
  if (!parsed) {
    return report(parsed.error().message,
                  parsed.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure);
  }
  return chat_with(std::move(parsed->options), std::move(options));
}

}  // namespace tempo9::cli
