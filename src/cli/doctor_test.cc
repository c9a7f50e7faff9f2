#include <gtest/gtest.h>

#include "cli/cli.h"

namespace tempo9::cli {
namespace {

TEST(Doctor, WrongUsageIsSaid) {
  EXPECT_EQ(run_doctor({}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"F.gguf"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"--determinism", "F.gguf", "--what"}, {}), kExitUsage);
  EXPECT_EQ(run_doctor({"--determinism", "/no/such.gguf"}, {}), kExitFailure);
  EXPECT_EQ(run_doctor({"--help"}, {}), kExitOk);
}

}  // namespace
}  // namespace tempo9::cli
