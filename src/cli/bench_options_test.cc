#include "cli/bench_options.h"

#include <gtest/gtest.h>

namespace tempo9::cli {
namespace {

using Numbers = std::vector<uint32_t>;

BenchOptions parse_bench(std::vector<std::string> args, const Environment& environment = {}) {
  const auto parsed = parse_bench_options(args, environment);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? parsed->options : BenchOptions{};
}

std::string bench_error(std::vector<std::string> args) {
  const auto parsed = parse_bench_options(args, {});
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  return parsed.error().message;
}

TEST(BenchOptions, Defaults) {
  const BenchOptions options = parse_bench({"--gguf", "F.gguf"});
  EXPECT_EQ(options.model_path, "F.gguf");
  EXPECT_EQ(options.plan.prefill, Numbers{512});
  EXPECT_EQ(options.plan.decode, Numbers{128});
  EXPECT_EQ(options.plan.rows, Numbers{1});
  EXPECT_EQ(options.plan.depth, 0u);
  EXPECT_EQ(options.plan.n_repeats, 5u);
  EXPECT_EQ(options.n_threads, 0u);
  EXPECT_FALSE(options.json);
  EXPECT_FALSE(options.roofs);
}

TEST(BenchOptions, AllFlags) {
  const BenchOptions options =
      parse_bench({"F.gguf", "--prefill", "512,4096", "--decode=128", "--rows", "1,8", "--depth",
                   "100", "--threads", "3", "--repeat", "7", "--json", "--roofs", "--parts"},
                  {.threads = "9", .isa = "avx2", .api_key = {}});
  EXPECT_EQ(options.model_path, "F.gguf");
  EXPECT_EQ(options.plan.prefill, (Numbers{512, 4096}));
  EXPECT_EQ(options.plan.decode, Numbers{128});
  EXPECT_EQ(options.plan.rows, (Numbers{1, 8}));
  EXPECT_EQ(options.plan.depth, 100u);
  EXPECT_EQ(options.plan.n_repeats, 7u);
  EXPECT_EQ(options.n_threads, 3u);
  EXPECT_EQ(options.isa, "avx2");
  EXPECT_TRUE(options.json);
  EXPECT_TRUE(options.roofs);
  EXPECT_TRUE(options.parts);
}

TEST(BenchOptions, OneKindAlone) {
  EXPECT_TRUE(parse_bench({"F.gguf", "--prefill", "9"}).plan.decode.empty());
  EXPECT_TRUE(parse_bench({"F.gguf", "--decode", "9"}).plan.prefill.empty());
  EXPECT_TRUE(parse_bench({"--roofs"}).model_path.empty());
}

TEST(BenchOptions, ThreadsOfTheEnvironment) {
  EXPECT_EQ(parse_bench({"--roofs"}, {.threads = "9", .isa = {}, .api_key = {}}).n_threads, 9u);
  const auto parsed =
      parse_bench_options({"--roofs"}, {.threads = "two", .isa = {}, .api_key = {}});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kIo);
}

TEST(BenchOptions, WrongValuesNameFlagFoundAndExpected) {
  struct Case {
    std::vector<std::string> args;
    std::vector<std::string> says;
  };
  for (const Case& c : {Case{{"--prefill", "0"}, {"--prefill", "\"0\"", "from 1 to"}},
                        {{"--prefill", "512,"}, {"--prefill", "\"512,\"", "whole numbers"}},
                        {{"--prefill", "512,,4"}, {"--prefill", "commas"}},
                        {{"--prefill="}, {"--prefill"}},
                        {{"--decode", "1.5"}, {"--decode", "\"1.5\"", "whole numbers"}},
                        {{"--decode", "99999999999"}, {"--decode", "99999999999", "1048576"}},
                        {{"--decode", "4", "--rows", "257"}, {"--rows", "\"257\"", "256"}},
                        {{"--decode", "4", "--depth", "x"}, {"--depth", "\"x\"", "from 0 to"}},
                        {{"--threads", "0"}, {"--threads", "\"0\"", "1 to 1024"}},
                        {{"--threads", "-1"}, {"--threads"}},
                        {{"--repeat", "many"}, {"--repeat", "\"many\"", "1 to 1000"}},
                        {{"--prefill", "4", "--rows", "8"}, {"--rows", "--decode"}},
                        {{"--prefill", "4", "--depth", "8"}, {"--depth", "--decode"}},
                        {{"G.gguf", "--decode", "4"}, {"G.gguf", "F.gguf", "expected one"}},
                        {{"--rosw", "1"}, {"--rosw", "did you mean --rows?"}},
                        {{"--xyzzy", "1"}, {"--xyzzy", "--prefill"}}}) {
    std::vector<std::string> args = {"--gguf", "F.gguf"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const std::string message = bench_error(args);
    for (const std::string& part : c.says)
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

TEST(BenchOptions, NothingToMeasure) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{}, {"--json"}, {"--prefill", "4"}}) {
    const std::string message = bench_error(args);
    EXPECT_NE(message.find("--gguf"), std::string::npos) << message;
    EXPECT_NE(message.find("--roofs"), std::string::npos) << message;
  }
  EXPECT_NE(bench_error({"--roofs", "--decode", "4"}).find("--decode: "), std::string::npos);
  EXPECT_NE(bench_error({"F.gguf", "G.gguf"}).find("G.gguf"), std::string::npos);
}

TEST(BenchOptions, Help) {
  const auto parsed = parse_bench_options({"--help"}, {});
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parsed->help);
  for (const char* flag : {"--prefill", "--decode", "--rows", "--depth", "--roofs", "--json",
                           "--threads", "--repeat", "--gguf"}) {
    EXPECT_NE(parsed->help->find(flag), std::string::npos) << flag;
  }
}

}  // namespace
}  // namespace tempo9::cli
