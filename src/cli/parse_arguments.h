// What every subcommand with CLI11 does: the library's exceptions become results, and words that it
// does not know errors that name the nearest one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace tempo9::cli {

// Fills what the app's options are bound to. False: help was asked for, in the form that app.help()
// then has (help_forms.h).
// Errors: kInvalidArgument in CLI11's words.
Result<bool> parse_arguments(CLI::App& app, const std::vector<std::string>& args);

// kInvalidArgument: the command line itself is wrong.
Error usage_error(std::string message);

// "--port", for every flag that the app knows.
std::vector<std::string> flag_names(const CLI::App& app);

// For a word that the app left over: a flag that is none of flags, or a second model file.
// otherwise goes behind the flag when no other one is near.
Error unknown_argument(const std::string& argument, const std::vector<std::string>& flags,
                       const std::string& otherwise);

// The candidate that is fewest edits away, if that is near enough to be a slip; else empty.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tempo9::cli
