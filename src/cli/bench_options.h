// The flags of `tempo9 bench`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "engine/bench.h"

namespace tempo9::cli {

struct BenchOptions {
  std::string model_path;  // empty: the machine's roofs only
  bool roofs = false;
  bool json = false;
  bool parts = false;      // where the time went
  uint32_t n_threads = 0;  // 0: by affinity and cgroup quota
  std::string isa;
  engine::BenchPlan plan;
};

struct ParsedBench {
  BenchOptions options;
  std::optional<std::string> help;  // print this and exit 0 instead
};

// Without --prefill and --decode: a prompt of 512 tokens and a reply of 128.
// Errors: as parse_serve_options.
Result<ParsedBench> parse_bench_options(const std::vector<std::string>& args,
                                        const Environment& environment);

// "512,4096": whole numbers from lowest to highest, at least one. Errors: kInvalidArgument naming
// the flag, what was found and what was expected.
Result<std::vector<uint32_t>> parse_numbers(std::string_view flag, std::string_view text,
                                            uint32_t lowest, uint32_t highest);
// A single one.
Result<uint32_t> parse_number(std::string_view flag, std::string_view text, uint32_t lowest,
                              uint32_t highest);

}  // namespace tempo9::cli
