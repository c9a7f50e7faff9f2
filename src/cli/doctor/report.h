// What `tempo9 doctor` found, as lines for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tempo9::cli {

// kWarn: it works, but not as well as it could. kFail: it does not.
enum class Level { kOk, kWarn, kFail };

struct Check {
  std::string name = {};  // stable: docs/cli.md lists them
  Level level = Level::kOk;
  std::string found = {};
  std::string expected = {};                                          // empty when all is well
  std::string advice = {};                                            // what to do about it
  nlohmann::ordered_json details = nlohmann::ordered_json::object();  // stable keys, by name
};

// The level of the worst.
Level worst(const std::vector<Check>& checks);

// "ok    port         ...", with what was expected and what to do on lines of their own.
std::string text_of(const Check& check);

// {"version", "status", "checks": [{"name", "status", "found", "expected", "advice", "details"}]}
nlohmann::ordered_json json_of(const std::vector<Check>& checks);

}  // namespace tempo9::cli
