#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "chat/parser.h"
#include "cli/parse_arguments.h"
#include "cli/server_flags.h"
#include "cli/sources.h"
#include "store/ollama.h"
#include "store/own_store.h"

namespace tempo9::cli {
namespace {

constexpr const char* kEnvironment =
    "Environment: TEMPO9_THREADS (as --threads), TEMPO9_CPU_ISA (force a kernel table: scalar, "
    "avx2, avxvnni, avx512),\n"
    "TEMPO9_API_KEY (as --api-key). AS_KV_OFFLOAD=0 keeps no KV cache on disk; "
    "AS_KV_OFFLOAD_GB caps it\n(default 16), AS_KV_OFFLOAD_PATH moves it (default: tempo9/kv in "
    "the user's cache folder).\n";

std::string serve_footer() {
  std::string text = "Commands (each has --help):\n";
  for (const Subcommand& command : subcommands())
    text += fmt::format("  tempo9 {:<12}{}\n", command.name, command.help);
  return text + kEnvironment;
}

// Flags of the design that have no meaning yet: known, so that the answer is better than "unknown".
constexpr const char* kLaterOptions[] = {"--tower"};
constexpr const char* kLaterSwitches[] = {"--allow-image-urls"};

// A file, or the name of a model that `tempo9 pull` fetched.
Result<std::string> model_file(const std::string& word, const Environment& environment,
                               std::string* served_name) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored) || word.ends_with(".gguf")) return word;
  auto model = store::OwnStore(models_folder(environment)).find(word);
  if (!model) {
    if (model.error().code != ErrorCode::kNotFound) return std::move(model).error();
    if (word.starts_with('/') || word.starts_with('.'))
      return word;  // a file: opening it says more
    return make_error(ErrorCode::kNotFound,
                      "{}: neither a file nor a model that was fetched; `tempo9 list` shows those, "
                      "`tempo9 pull {}` fetches one",
                      word, word);
  }
  if (served_name->empty()) *served_name = model->name;
  return model->path;
}

std::vector<std::string> serve_flags(const CLI::App& app) {
  std::vector<std::string> names = flag_names(app);
  for (const char* name : kLaterOptions) names.emplace_back(name);
  for (const char* name : kLaterSwitches) names.emplace_back(name);
  return names;
}

}  // namespace

Result<uint32_t> whole_number(const char* what, const std::string& text, uint32_t min,
                              uint32_t max) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return usage_error(fmt::format("{}: found \"{}\", expected a whole number from {} to {}", what,
                                   text, min, max));
  }
  return value;
}

Result<uint32_t> threads_from_environment(const std::string& text) {
  auto value = whole_number("TEMPO9_THREADS", text, 1, 1024);
  if (!value) return Error{ErrorCode::kIo, std::move(value).error().message};
  return *value;
}

Status kv_offload_from_environment(const Environment& environment, engine::EngineOptions* engine) {
  const std::string offload = environment.kv_offload.value_or("1");
  if (offload != "0" && offload != "1") {
    return make_error(ErrorCode::kIo,
                      "AS_KV_OFFLOAD: found \"{}\", expected 1 (the KV cache is kept on disk, too) "
                      "or 0",
                      offload);
  }
  const std::string text = environment.kv_offload_gb.value_or("16");
  double gigabytes = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, gigabytes, std::chars_format::fixed);
  if (error != std::errc() || end != last || !(gigabytes >= 0 && gigabytes <= 1e6)) {
    return make_error(
        ErrorCode::kIo,
        "AS_KV_OFFLOAD_GB: found \"{}\", expected the gigabytes that the KV cache may "
        "take on disk, like 16 or 0.5 (0: none)",
        text);
  }
  engine->kv_disk_bytes = static_cast<uint64_t>(gigabytes * 1e9);
  if (offload == "0" || engine->kv_disk_bytes == 0) return {};
  if (environment.kv_offload_path) {
    engine->kv_folder = *environment.kv_offload_path;
  } else if (!environment.cache_home.empty()) {
    engine->kv_folder = environment.cache_home + "/tempo9/kv";
  }
  return {};
}

std::string ollama_folder(const Environment& environment) {
  if (environment.ollama_models) return *environment.ollama_models;
  const std::string own = environment.home + "/.ollama/models";
  const std::string service = "/usr/share/ollama/.ollama/models";
  std::error_code ignored;
  const bool has_own = !environment.home.empty() && std::filesystem::is_directory(own, ignored);
  return has_own || !std::filesystem::is_directory(service, ignored) ? own : service;
}

Result<uint64_t> parse_bytes(const std::string& text) {
  uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  std::string unit(end, last);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (unit.ends_with("IB")) {
    unit.erase(unit.size() - 2);
  } else if (unit.size() == 2 && unit.ends_with("B")) {
    unit.pop_back();
  }
  int shift = -1;
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "K") shift = 10;
  if (unit == "M") shift = 20;
  if (unit == "G") shift = 30;
  if (unit == "T") shift = 40;
  if (error != std::errc() || shift < 0 || value == 0 || value > (uint64_t{1} << 50) >> shift) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--memory: found \"{}\", expected a size like 6G or 512M", text);
  }
  return value << shift;
}

Result<ParsedOptions> parse_serve_options(const std::vector<std::string>& args,
                                          const Environment& environment) {
  ParsedOptions parsed;
  ServeOptions& options = parsed.options;
  engine::EngineOptions& engine = options.engine;
  ServerFlags server_flags;
  std::string positional;
  std::string ollama;
  std::string memory;
  std::optional<uint32_t> threads;
  std::optional<uint32_t> max_length;
  std::string speculation_k = "0";
  double idle_minutes = 0;
  std::vector<std::string> later(std::size(kLaterOptions));

  CLI::App app(
      "Serves one local language model over HTTP to clients of OpenAI, Anthropic and Ollama; on "
      "this machine only, unless told otherwise.",
      "tempo9 [serve]");
  app.footer(serve_footer());
  app.allow_extras();
  app.add_option("model", positional, "the model file")->type_name("F.gguf");
  app.add_option("--gguf", engine.model_path, "the model file (any shard of a split one)")
      ->type_name("F");
  app.add_option("--ollama", ollama,
                 "a model of Ollama's store, which is only read; OLLAMA_MODELS moves it")
      ->type_name("NAME[:TAG]");
  app.add_flag("--list-ollama", parsed.list_ollama, "print that store's models and exit");
  app.add_option("--name", options.name,
                 "the model's name in /v1/models (default: the file's own)");
  server_flags.add_to(&app);
  app.add_option("--max-length", max_length,
                 "context in tokens (default: the smaller of 32768 and the file's)")
      ->check(CLI::Range(1u, 1u << 24))
      ->type_name("N");
  app.add_option("--max-batch", engine.max_batch, "requests that run at once (default 16)")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
  app.add_option("--threads", threads, "compute threads (default: by affinity and cgroup quota)")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
  app.add_option("--kv-type", engine.kv_type, "type of the KV cache (default i16)")
      ->type_name("i16|q8_0|f16|f32");
  app.add_option("--pooling", engine.pooling,
                 "how embeddings are made (default: as the file declares; chat models give none)")
      ->type_name("mean|last|cls");
  app.add_option("--graph", engine.packed_path,
                 "keep the weights packed in this file, so that later starts need not pack them")
      ->type_name("F");
  app.add_option("--memory", memory, "cap on memory, like 6G (default: none)")->type_name("SIZE");
  app.add_option("--chat-template-file", options.chat_template_file,
                 "Jinja template to use instead of the file's own")
      ->type_name("F");
  app.add_option("--tool-parser", options.tool_parser,
                 "output format of tool calls and thinking (default: from template and vocabulary)")
      ->type_name("NAME");
  app.add_option("--idle-unload", idle_minutes,
                 "give the model's memory back after so many minutes without a request; the next "
                 "request loads it again (default: never)")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("MINUTES");
  app.add_option("--script", engine.script_path, "replies from this file in place of a model")
      ->type_name("F");
  app.add_option("--speculation-k", speculation_k, "draft depth; 0 (off) is the only one yet")
      ->type_name("K");
  for (size_t i = 0; i < later.size(); ++i) app.add_option(kLaterOptions[i], later[i])->group("");
  for (const char* name : kLaterSwitches) app.add_flag(name)->group("");

  T9_TRY(const bool goes_on, parse_arguments(app, args));
  if (!goes_on) {
    parsed.help = app.help();
    return parsed;
  }
  if (const auto extras = app.remaining(); !extras.empty())
    return unknown_argument(extras.front(), serve_flags(app), "; `tempo9 --help` lists them");
  for (size_t i = 0; i < later.size(); ++i) {
    if (app.count(kLaterOptions[i]) > 0)
      return usage_error(fmt::format("{}: not available yet", kLaterOptions[i]));
  }
  for (const char* name : kLaterSwitches) {
    if (app.count(name) > 0) return usage_error(fmt::format("{}: not available yet", name));
  }
  T9_TRY(options.server, server_flags.read(environment));
  T9_TRY(const uint32_t n_drafts, whole_number("--speculation-k", speculation_k, 0, 64));
  if (n_drafts != 0) {
    return usage_error(fmt::format(
        "--speculation-k: found {}, expected 0; drafts are not available yet", n_drafts));
  }
  constexpr std::array<std::string_view, 4> kKvTypes = {"i16", "q8_0", "f16", "f32"};
  if (std::ranges::find(kKvTypes, engine.kv_type) == kKvTypes.end()) {
    return usage_error(
        fmt::format("--kv-type: found \"{}\", expected i16, q8_0, f16 or f32", engine.kv_type));
  }
  constexpr std::array<std::string_view, 4> kPoolings = {"", "mean", "last", "cls"};
  if (std::ranges::find(kPoolings, engine.pooling) == kPoolings.end()) {
    return usage_error(
        fmt::format("--pooling: found \"{}\", expected mean, last or cls", engine.pooling));
  }
  const std::vector<std::string_view> parsers = chat::format_names();
  if (!options.tool_parser.empty() &&
      std::find(parsers.begin(), parsers.end(), options.tool_parser) == parsers.end()) {
    return usage_error(fmt::format("--tool-parser: found \"{}\", expected one of {}",
                                   options.tool_parser, fmt::join(parsers, ", ")));
  }
  if (!positional.empty() && !engine.model_path.empty()) {
    return usage_error(fmt::format("found two model files, --gguf {} and {}, expected one",
                                   engine.model_path, positional));
  }
  if (!positional.empty()) {
    T9_TRY(engine.model_path, model_file(positional, environment, &options.name));
  }
  if (parsed.list_ollama) return parsed;
  if (app.count("--ollama") > 0) {
    if (!engine.model_path.empty()) {
      return usage_error(fmt::format("found two models, {} and --ollama {}, expected one",
                                     engine.model_path, ollama));
    }
    T9_TRY(const auto model, store::find_ollama(ollama_folder(environment), ollama));
    engine.model_path = model.path;
    if (options.name.empty()) options.name = model.name;
  }
  if (engine.model_path.empty() && engine.script_path.empty()) {
    return usage_error(
        "no model: give a file, as in `tempo9 --gguf F.gguf` (or `tempo9 --script F`); see `tempo9 "
        "--help`");
  }
  if (!memory.empty()) {
    T9_TRY(engine.memory_bytes, parse_bytes(memory));
  }
  engine.idle_unload = std::chrono::milliseconds(std::llround(idle_minutes * 60'000));
  engine.max_length = max_length.value_or(0);
  if (threads) {
    engine.n_threads = *threads;
  } else if (environment.threads) {
    T9_TRY(engine.n_threads, threads_from_environment(*environment.threads));
  }
  engine.isa = environment.isa.value_or("");
  T9_TRY(kv_offload_from_environment(environment, &engine));
  return parsed;
}

}  // namespace tempo9::cli
