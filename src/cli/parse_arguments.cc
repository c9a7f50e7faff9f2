#include "cli/parse_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/help_forms.h"

namespace tempo9::cli {

Result<bool> parse_arguments(CLI::App& app, const std::vector<std::string>& args) {
  if (args.size() == 2 && args.front() == kHelpAs && is_help_form(args.back())) {
    app.formatter_fn([form = args.back()](const CLI::App* self, const std::string&,
                                          CLI::AppFormatMode) { return help_as(form, *self); });
    return false;
  }
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ExtrasError&) {
    const std::string word = app.remaining().front();
    if (word.starts_with("-")) return unknown_argument(word, flag_names(app), "; see --help");
    return usage_error(fmt::format("unexpected argument \"{}\"; see --help", word));
  } catch (const CLI::RequiredError& error) {
    return usage_error(fmt::format("{}; see --help", error.what()));
  } catch (const CLI::ParseError& error) {
    return make_error(ErrorCode::kInvalidArgument, "{}", error.what());
  }
  return true;
}

Error usage_error(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Error unknown_argument(const std::string& argument, const std::vector<std::string>& flags,
                       const std::string& otherwise) {
  if (!argument.starts_with("-")) {
    return usage_error(fmt::format(
        "unexpected argument \"{}\": found a second model file, expected one", argument));
  }
  const std::string name = argument.substr(0, argument.find('='));
  const std::string guess = nearest(name, flags);
  return usage_error(guess.empty() ? fmt::format("unknown flag {}{}", name, otherwise)
                                   : fmt::format("unknown flag {}; did you mean {}?", name, guess));
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Levenshtein's distance, one row at a time.
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t k = 0; k < row.size(); ++k) row[k] = k;
    for (size_t i = 0; i < word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t k = 0; k < candidate.size(); ++k) {
        const size_t replaced = diagonal + (word[i] == candidate[k] ? 0 : 1);
        diagonal = row[k + 1];
        row[k + 1] = std::min({replaced, row[k] + 1, diagonal + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace tempo9::cli
