// What `tempo9 bench` prints.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/statistics.h"
#include "engine/bench.h"
#include "ops/roof.h"

namespace tempo9::cli {

// One measured roof; rates a second.
struct RoofLine {
  ops::Roof roof = ops::Roof::kRead;
  std::string isa;
  uint32_t n_threads = 1;
  Summary rate;
};

// A result beside the roof that bounds it.
struct BenchLine {
  engine::BenchResult result;
  Summary tokens_per_second;  // of all rows together
  double share_of_roof = 0;   // at the median
};
// Prefill: multiply-adds of the weights / roof, int8 dots of all threads. Decode: bytes that must
// be read / roof, read bandwidth of all threads.
BenchLine bench_line(const engine::BenchResult& result, double roof_per_second);

// {"kind": "int8_dot", "threads": 2, "isa": "avx512", "unit": "G multiply-adds/s", "rate": 1056.2,
//  "range": [1050.1, 1057.0]}
nlohmann::ordered_json roof_json(const RoofLine& line);
// {"kind": "decode", "n": 128, "rows": 8, "depth": 0, "tok_s": 213.4, "range": [210.0, 214.1],
//  "share_of_roof": 0.41}; with the parts of its time also
//  "parts": [{"part": "attention", "us_per_token": 310.5, "share": 0.12}, ...]
nlohmann::ordered_json bench_json(const BenchLine& line);

// Lines of tables for people, with the heads above them; each ends in a newline.
std::string roof_head();
std::string roof_text(const RoofLine& line);
std::string bench_head();
std::string bench_text(const BenchLine& line);  // and a line for each part

}  // namespace tempo9::cli
