// What every subcommand with CLI11 does: the library's exceptions become results.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace tempo9::cli {

// Fills what the app's options are bound to. False: help was asked for.
// Errors: kInvalidArgument in CLI11's words.
Result<bool> parse_arguments(CLI::App& app, const std::vector<std::string>& args);

}  // namespace tempo9::cli
