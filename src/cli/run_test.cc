#include <gtest/gtest.h>

#include "cli/cli.h"
#include "cli/testing/outcome.h"

namespace tempo9::cli {
namespace {

Outcome run_with(std::vector<std::string> args) {
  return outcome_of([&] { return run(args, {}); });
}

TEST(Run, Version) {
  const Outcome outcome = run_with({"--version"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_TRUE(outcome.out.starts_with("tempo9 "));
}

TEST(Run, Help) {
  for (const auto& args : {std::vector<std::string>{"--help"}, {"serve", "--help"}}) {
    const Outcome outcome = run_with(args);
    EXPECT_EQ(outcome.exit_code, kExitOk);
    EXPECT_NE(outcome.out.find("--gguf"), std::string::npos);
  }
}

TEST(Run, SlipsOfACommand) {
  const Outcome outcome = run_with({"serv"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_NE(outcome.err.find("did you mean serve?"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(Run, FileThatIsNotThere) {
  for (const auto& args : {std::vector<std::string>{"/no/such.gguf"},
                           {"serve", "/no/such.gguf"},
                           {"--gguf", "/no/such.gguf"}}) {
    const Outcome outcome = run_with(args);
    EXPECT_EQ(outcome.exit_code, kExitFailure);
    EXPECT_NE(outcome.err.find("/no/such.gguf"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace tempo9::cli
