#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cli/cli.h"
#include "cli/parse_arguments.h"

namespace tempo9::cli {
namespace {

constexpr Subcommand kSubcommands[] = {
#define T9_SUBCOMMAND(name, function, help) {name, function, help},
#include "cli/list.inc"
#undef T9_SUBCOMMAND
};

// A first word that is neither a flag nor a command is a model file; a slip of a command's name
// should not be.
int run_word(const std::vector<std::string>& args, const Environment& environment) {
  const std::string& word = args.front();
  const bool looks_like_file =
      word.find_first_of("/.:") != std::string::npos;  // "qwen3:0.6b" is one that was pulled
  if (looks_like_file) return run_serve(args, environment);
  std::vector<std::string> names;
  for (const Subcommand& command : kSubcommands) names.emplace_back(command.name);
  const std::string guess = nearest(word, names);
  return report(fmt::format("\"{}\" is neither a command ({}) nor a .gguf file{}", word,
                            fmt::join(names, ", "),
                            guess.empty() ? "" : fmt::format("; did you mean {}?", guess)),
                kExitUsage);
}

int dispatch(const std::vector<std::string>& args, const Environment& environment) {
  if (args.empty()) return run_serve(args, environment);
  if (args.front() == "--version" || args.front() == "-V") {
    fmt::print("tempo9 {}\n", T9_VERSION);
    return finish_output(kExitOk);
  }
  for (const Subcommand& command : kSubcommands) {
    if (args.front() == command.name)
      return command.run({args.begin() + 1, args.end()}, environment);
  }
  return args.front().starts_with("-") ? run_serve(args, environment) : run_word(args, environment);
}

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

int report(const std::string& message, int exit_code) {
  fmt::print(stderr, "tempo9: {}\n", message);
  return exit_code;
}

int finish_output(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  return report(fmt::format("cannot write to standard output: {}", std::strerror(errno)),
                kExitFailure);
}

int run(const std::vector<std::string>& args, const Environment& environment) {
  try {
    return dispatch(args, environment);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tempo9: {}\n", error.what());
    return kExitFailure;
  }
}

}  // namespace tempo9::cli
