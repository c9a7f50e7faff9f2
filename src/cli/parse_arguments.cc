#include "cli/parse_arguments.h"

#include <CLI/CLI.hpp>

namespace tempo9::cli {

Result<bool> parse_arguments(CLI::App& app, const std::vector<std::string>& args) {
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    return make_error(ErrorCode::kInvalidArgument, "{}", error.what());
  }
  return true;
}

}  // namespace tempo9::cli
