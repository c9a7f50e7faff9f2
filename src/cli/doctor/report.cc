#include "cli/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace tempo9::cli {
namespace {

const char* level_name(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarn:
      return "warn";
    default:
      return "fail";
  }
}

}  // namespace

Level worst(const std::vector<Check>& checks) {
  Level level = Level::kOk;
  for (const Check& check : checks) level = std::max(level, check.level);
  return level;
}

std::string text_of(const Check& check) {
  std::string text =
      fmt::format("{:<5} {:<12} {}\n", level_name(check.level), check.name, check.found);
  if (!check.expected.empty()) text += fmt::format("{:19}expected: {}\n", "", check.expected);
  if (!check.advice.empty()) text += fmt::format("{:19}do: {}\n", "", check.advice);
  return text;
}

nlohmann::ordered_json json_of(const std::vector<Check>& checks) {
  nlohmann::ordered_json json = {{"version", T9_VERSION}, {"status", level_name(worst(checks))}};
  json["checks"] = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    json["checks"].push_back({{"name", check.name},
                              {"status", level_name(check.level)},
                              {"found", check.found},
                              {"expected", check.expected},
                              {"advice", check.advice},
                              {"details", check.details}});
  }
  return json;
}

}  // namespace tempo9::cli
