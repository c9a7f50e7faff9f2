// The flags of `tempo9` and `tempo9 serve`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "server/server.h"

namespace tempo9::cli {

struct ServeOptions {
  engine::EngineOptions engine;
  server::ServerOptions server;
  std::string name;
  std::string chat_template_file;
  std::string tool_parser;  // a name of chat::format_names(); empty: the model's own
};

// What the command line asks for.
struct ParsedOptions {
  ServeOptions options;
  std::optional<std::string> help;  // print this and exit 0 instead
  bool list_ollama = false;         // print what Ollama's store holds and exit instead
};

// Errors: kInvalidArgument for wrong usage (exit 2): unknown flags with the nearest known one,
// values out of range with the right ones, flags that are not available yet; kIo for values in the
// environment that cannot start (exit 1).
Result<ParsedOptions> parse_serve_options(const std::vector<std::string>& args,
                                          const Environment& environment);

// "512M", "6G", "6GiB", "1073741824": bytes.
Result<uint64_t> parse_bytes(const std::string& text);

// Where Ollama keeps its models: OLLAMA_MODELS, the user's own, or its service's.
std::string ollama_folder(const Environment& environment);

// AS_KV_OFFLOAD, _GB, _PATH into engine.kv_folder and kv_disk_bytes. Errors: kIo naming the
// variable.
Status kv_offload_from_environment(const Environment& environment, engine::EngineOptions* engine);

// Errors: kInvalidArgument naming what.
Result<uint32_t> whole_number(const char* what, const std::string& text, uint32_t min,
                              uint32_t max);

// TEMPO9_THREADS. Errors: kIo naming it.
Result<uint32_t> threads_from_environment(const std::string& text);

}  // namespace tempo9::cli
