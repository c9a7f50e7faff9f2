#include "cli/known.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/cli.h"
#include "cli/testing/outcome.h"
#include "models/models.h"
#include "store/catalogue.h"

namespace tempo9::cli {
namespace {

// The catalogue, every way there is to ask for it.
TEST(Known, EachModelHasALineThatSaysWhetherItFits) {
  for (const auto& command :
       {+[] { return run_list({"--known"}, {}); }, +[] { return run_pull({}, {}); }}) {
    const Outcome outcome = outcome_of(command);
    EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
    for (const auto& model : store::known_models()) {
      const size_t at = outcome.out.find(model.name);
      ASSERT_NE(at, std::string::npos) << model.name;
      const std::string line = outcome.out.substr(at, outcome.out.find('\n', at) - at);
      EXPECT_TRUE(line.find("fits") != std::string::npos ||
                  line.find("too large") != std::string::npos)
          << line;
    }
  }
}

TEST(Known, ArchitecturesStandOneALine) {
  const Outcome outcome = outcome_of([] { return run_list({"--architectures"}, {}); });
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  std::string expected;
  for (const std::string_view name : models::known_architectures())
    expected.append(name).push_back('\n');
  EXPECT_EQ(outcome.out, expected);
}

}  // namespace
}  // namespace tempo9::cli
