#include "cli/bench_report.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace tempo9::cli {
namespace {

struct RoofWords {
  std::string_view kind, title, unit;
};

RoofWords words(ops::Roof roof) {
  switch (roof) {
    case ops::Roof::kInt8Dots:
      return {"int8_dot", "int8 dot products", "G multiply-adds/s"};
    case ops::Roof::kF32Fmas:
      return {"f32_fma", "f32 multiply-adds", "G multiply-adds/s"};
    case ops::Roof::kRead:
      break;
  }
  return {"read", "read bandwidth", "GB/s"};
}

Summary in_billions(const Summary& s) { return {s.median / 1e9, s.lowest / 1e9, s.highest / 1e9}; }

struct PartShare {
  std::string name;
  double us_per_token, share;
};

// What no op took (the choice of tokens, the backend's own bookkeeping) is called "rest".
std::vector<PartShare> shares(const engine::BenchResult& result) {
  if (result.parts.empty()) return {};
  const double all = std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0);
  const double n_tokens = static_cast<double>(result.n_tokens() * result.seconds.size());
  std::vector<PartShare> out;
  double rest = all;
  for (const engine::BenchPart& part : result.parts) {
    out.push_back({part.name, part.seconds / n_tokens * 1e6, part.seconds / all});
    rest -= part.seconds;
  }
  out.push_back({"rest", rest / n_tokens * 1e6, rest / all});
  return out;
}

std::string range_text(const Summary& summary) {
  return fmt::format("{:.1f} - {:.1f}", summary.lowest, summary.highest);
}

}  // namespace

BenchLine bench_line(const engine::BenchResult& result, double roof_per_second) {
  const auto n_tokens = static_cast<double>(result.n_tokens());
  std::vector<double> rates;
  for (const double seconds : result.seconds) rates.push_back(n_tokens / seconds);
  BenchLine line{result, summarize(std::move(rates)), 0};
  const double work_per_second = result.work / n_tokens * line.tokens_per_second.median;
  line.share_of_roof = work_per_second / roof_per_second;
  return line;
}

nlohmann::ordered_json roof_json(const RoofLine& line) {
  const RoofWords& w = words(line.roof);
  const Summary rate = in_billions(line.rate);
  return {{"kind", w.kind}, {"threads", line.n_threads}, {"isa", line.isa},
          {"unit", w.unit}, {"rate", rate.median},       {"range", {rate.lowest, rate.highest}}};
}

nlohmann::ordered_json bench_json(const BenchLine& line) {
  const engine::BenchResult& result = line.result;
  const bool is_prefill = result.kind == engine::BenchResult::Kind::kPrefill;
  const Summary& rate = line.tokens_per_second;
  nlohmann::ordered_json out = {{"kind", is_prefill ? "prefill" : "decode"},
                                {"n", result.n},
                                {"rows", result.rows},
                                {"depth", result.depth},
                                {"tok_s", rate.median},
                                {"range", {rate.lowest, rate.highest}},
                                {"share_of_roof", line.share_of_roof}};
  for (const PartShare& part : shares(result)) {
    out["parts"].push_back(
        {{"part", part.name}, {"us_per_token", part.us_per_token}, {"share", part.share}});
  }
  return out;
}

std::string roof_head() {
  return fmt::format("{:<18} {:>7} {:>10} {:>19}  {}\n", "roof", "threads", "median", "range",
                     "unit");
}

std::string roof_text(const RoofLine& line) {
  const RoofWords& w = words(line.roof);
  const Summary rate = in_billions(line.rate);
  return fmt::format("{:<18} {:>7} {:>10.1f} {:>19}  {}\n", w.title, line.n_threads, rate.median,
                     range_text(rate), w.unit);
}

std::string bench_head() {
  return fmt::format("{:<8} {:>7} {:>5} {:>7} {:>10} {:>19}  {}\n", "kind", "tokens", "rows",
                     "depth", "tok/s", "range", "share of roof");
}

std::string bench_text(const BenchLine& line) {
  const engine::BenchResult& result = line.result;
  const bool is_prefill = result.kind == engine::BenchResult::Kind::kPrefill;
  std::string out = fmt::format("{:<8} {:>7} {:>5} {:>7} {:>10.1f} {:>19}  {:.1f} % of {}\n",
                                is_prefill ? "prefill" : "decode", result.n, result.rows,
                                result.depth, line.tokens_per_second.median,
                                range_text(line.tokens_per_second), 100 * line.share_of_roof,
                                words(is_prefill ? ops::Roof::kInt8Dots : ops::Roof::kRead).title);
  for (const PartShare& part : shares(result))
    out += fmt::format("  {:>12.1f} us a token {:>5.1f} %  {}\n", part.us_per_token,
                       100 * part.share, part.name);
  return out;
}

}  // namespace tempo9::cli
