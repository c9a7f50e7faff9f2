#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cli.h"
#include "cli/help_forms.h"
#include "cli/testing/outcome.h"

namespace tempo9::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome complete(std::vector<std::string> args) {
  return outcome_of([&] { return run_completion(args, {}); });
}

TEST(Completion, EveryFormKnowsEveryCommand) {
  for (const char* form : kHelpForms) {
    const Outcome outcome = complete({form});
    EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
    for (const Subcommand& command : subcommands()) {
      EXPECT_THAT(outcome.out, HasSubstr(command.name)) << form;
    }
    for (const char* blank : {"@COMMANDS@", "@DESCRIBED@", "@VERSION@"}) {
      EXPECT_THAT(outcome.out, Not(HasSubstr(blank))) << form;
    }
    EXPECT_THAT(outcome.out, HasSubstr("version")) << form;
  }
}

TEST(Completion, FormsThatAreNone) {
  const Outcome outcome = complete({"tcsh"});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.err,
            "tempo9: completion: found \"tcsh\", expected one of bash, zsh, fish, man\n");
  EXPECT_EQ(complete({}).exit_code, kExitUsage);
  EXPECT_EQ(complete({"--help"}).exit_code, kExitOk);
}

TEST(Completion, ThePageNamesNobodysFolder) {
  const Outcome outcome =
      outcome_of([] { return run_completion({"man"}, {.data_home = "/home/builder/.local"}); });
  EXPECT_THAT(outcome.out, Not(HasSubstr("builder")));
}

}  // namespace
}  // namespace tempo9::cli
