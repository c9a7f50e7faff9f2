// What ends a run before anything is measured; tests/e2e/test_bench.py measures.
#include <gtest/gtest.h>

#include "cli/cli.h"
#include "cli/testing/outcome.h"

namespace tempo9::cli {
namespace {

Outcome bench_with(const std::vector<std::string>& args, const Environment& environment = {}) {
  return outcome_of([&] { return run_bench(args, environment); });
}

TEST(RunBench, WrongUsage) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{}, {"--rows", "x"}}) {
    const Outcome outcome = bench_with(args);
    EXPECT_EQ(outcome.exit_code, kExitUsage);
    EXPECT_TRUE(outcome.err.starts_with("tempo9: ")) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(RunBench, FilesThatAreNotThere) {
  const Outcome outcome = bench_with({"--gguf", "/no/such.gguf", "--json"});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.err.find("/no/such.gguf"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(RunBench, UnknownKernelTable) {
  const Outcome outcome = bench_with({"--roofs"}, {.threads = {}, .isa = "mmx", .api_key = {}});
  EXPECT_EQ(outcome.exit_code, kExitFailure);
  EXPECT_NE(outcome.err.find("mmx"), std::string::npos) << outcome.err;
}

TEST(RunBench, Help) {
  const Outcome outcome = bench_with({"--help"});
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_NE(outcome.out.find("--prefill"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::cli
