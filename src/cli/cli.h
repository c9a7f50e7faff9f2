// The command line. One file per subcommand; list.inc names them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tempo9::cli {

// Everything that is read from the environment, once, by env.cc.
struct Environment {
  std::optional<std::string> threads = {};          // TEMPO9_THREADS
  std::optional<std::string> isa = {};              // TEMPO9_CPU_ISA
  std::optional<std::string> api_key = {};          // TEMPO9_API_KEY
  std::optional<std::string> kv_offload = {};       // AS_KV_OFFLOAD
  std::optional<std::string> kv_offload_gb = {};    // AS_KV_OFFLOAD_GB
  std::optional<std::string> kv_offload_path = {};  // AS_KV_OFFLOAD_PATH
  std::optional<std::string> ollama_models = {};    // OLLAMA_MODELS
  std::optional<std::string> hf_token = {};         // HF_TOKEN, or HUGGING_FACE_HUB_TOKEN
  std::optional<std::string> hf_endpoint = {};      // HF_ENDPOINT
  std::string hf_token_path = {};  // HF_TOKEN_PATH, or token in HF_HOME; the library's own default
  std::string home = {};           // HOME; empty: not set
  std::string data_home = {};      // XDG_DATA_HOME, or .local/share in HOME
  std::string cache_home = {};     // XDG_CACHE_HOME, or .cache in HOME; empty: neither is set
  // Names that look like ours (TEMPO9_..., AS_...) and are none of kVariables.
  std::vector<std::string> unknown = {};
};
inline constexpr const char* kVariables[] = {"TEMPO9_THREADS",   "TEMPO9_CPU_ISA",
                                             "TEMPO9_API_KEY",   "AS_KV_OFFLOAD",
                                             "AS_KV_OFFLOAD_GB", "AS_KV_OFFLOAD_PATH"};
Environment read_environment();

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // could not start, or could not go on
inline constexpr int kExitUsage = 2;    // the command line itself is wrong

// The whole program: args without the program's name. Returns the exit code; never throws.
int run(const std::vector<std::string>& args, const Environment& environment);

// The end of a command that failed: says why on stderr and gives back exit_code.
int report(const std::string& message, int exit_code);

// The end of a command whose work is what it printed: exit_code, or kExitFailure with a message if
// standard output did not take it.
int finish_output(int exit_code);

// One subcommand: args behind its name. Prints its own errors ("tempo9: ..." on stderr) and returns
// the exit code.
int run_serve(const std::vector<std::string>& args, const Environment& environment);
int run_show(const std::vector<std::string>& args, const Environment& environment);
int run_doctor(const std::vector<std::string>& args, const Environment& environment);
int run_bench(const std::vector<std::string>& args, const Environment& environment);
int run_quality(const std::vector<std::string>& args, const Environment& environment);
int run_chat(const std::vector<std::string>& args, const Environment& environment);
int run_pull(const std::vector<std::string>& args, const Environment& environment);
int run_list(const std::vector<std::string>& args, const Environment& environment);
int run_rm(const std::vector<std::string>& args, const Environment& environment);
int run_schema(const std::vector<std::string>& args, const Environment& environment);
int run_completion(const std::vector<std::string>& args, const Environment& environment);

struct Subcommand {
  const char* name;
  int (*run)(const std::vector<std::string>&, const Environment&);
  const char* help;  // one line
};
// As list.inc has them.
std::span<const Subcommand> subcommands();

}  // namespace tempo9::cli
