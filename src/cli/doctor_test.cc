// With a server, a hub or a model: tests/e2e/test_doctor.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/temp_folder.h"
#include "cli/cli.h"
#include "cli/testing/outcome.h"

namespace tempo9::cli {
namespace {

// A machine's own state decides over port and memory: any exit code but wrong usage.
TEST(Doctor, ChecksTheMachineWithoutAModel) {
  const TempFolder folder;
  const Environment environment{.data_home = folder.path(), .cache_home = folder.path()};
  const Outcome outcome = outcome_of([&] { return run_doctor({"--json"}, environment); });
  EXPECT_NE(outcome.exit_code, kExitUsage);
  const auto json = nlohmann::json::parse(outcome.out);
  std::vector<std::string> names;
  for (const auto& check : json["checks"]) names.push_back(check["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "threads", "memory", "gpu", "kv-disk", "port",
                                             "ollama", "models"}));
  EXPECT_EQ(outcome.exit_code == kExitFailure, json["status"] == "fail");
}

TEST(Doctor, WrongUsageIsSaid) {
  EXPECT_EQ(run_doctor({"--determinism"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"F.gguf", "--what"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"F.gguf", "--kv-type", "f8"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"F.gguf", "--memory", "much"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"F.gguf", "--ollama", "x"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({}, {.threads = "none"}), kExitFailure);
  EXPECT_EQ(run_doctor({"--help"}, {}), kExitOk);
}

TEST(Doctor, AModelThatIsNotThereFails) {
  const Outcome outcome = outcome_of([] { return run_doctor({"/no/such.gguf"}, {}); });
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.out.find("fail  model"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("/no/such.gguf"), std::string::npos);
  EXPECT_EQ(run_doctor({"--determinism", "/no/such.gguf"}, {}), kExitFailure);
}

}  // namespace
}  // namespace tempo9::cli
