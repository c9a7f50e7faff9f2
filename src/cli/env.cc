// The one place that reads the environment.
#include <cstdlib>

#include "cli/cli.h"

namespace tempo9::cli {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    return std::nullopt;  // empty is how a shell unsets one for a command
  return std::string(value);
}

}  // namespace

Environment read_environment() {
  return {
      .threads = variable("TEMPO9_THREADS"),
      .isa = variable("TEMPO9_CPU_ISA"),
      .api_key = variable("TEMPO9_API_KEY"),
  };
}

}  // namespace tempo9::cli
