// The one place that reads the environment.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/cli.h"

namespace tempo9::cli {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    return std::nullopt;  // empty is how a shell unsets one for a command
  return std::string(value);
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("TEMPO9_") && !name.starts_with("AS_")) continue;
    if (std::find(std::begin(kVariables), std::end(kVariables), name) == std::end(kVariables)) {
      unknown.emplace_back(name);
    }
  }
  return unknown;
}

// The XDG base directory specification: a relative path is as good as none.
std::string cache_home() {
  if (const auto folder = variable("XDG_CACHE_HOME"); folder && folder->starts_with('/')) {
    return *folder;
  }
  const auto home = variable("HOME");
  return home ? *home + "/.cache" : "";
}

std::string data_home() {
  if (const auto folder = variable("XDG_DATA_HOME"); folder && folder->starts_with('/')) {
    return *folder;
  }
  return variable("HOME").value_or("") + "/.local/share";
}

// As huggingface_hub has it.
std::string hf_token_path() {
  if (const auto path = variable("HF_TOKEN_PATH")) return *path;
  const auto folder = variable("HF_HOME");
  return folder ? *folder + "/token" : cache_home() + "/huggingface/token";
}

}  // namespace

Environment read_environment() {
  return {
      .threads = variable("TEMPO9_THREADS"),
      .isa = variable("TEMPO9_CPU_ISA"),
      .api_key = variable("TEMPO9_API_KEY"),
      .kv_offload = variable("AS_KV_OFFLOAD"),
      .kv_offload_gb = variable("AS_KV_OFFLOAD_GB"),
      .kv_offload_path = variable("AS_KV_OFFLOAD_PATH"),
      .ollama_models = variable("OLLAMA_MODELS"),
      .hf_token = variable(variable("HF_TOKEN") ? "HF_TOKEN" : "HUGGING_FACE_HUB_TOKEN"),
      .hf_endpoint = variable("HF_ENDPOINT"),
      .hf_token_path = hf_token_path(),
      .home = variable("HOME").value_or(""),
      .data_home = data_home(),
      .cache_home = cache_home(),
      .unknown = unknown_variables(),
  };
}

}  // namespace tempo9::cli
