// Links: t9_cpu t9_quant t9_tensor t9_base
//
// Products of every packing on every table of this machine on one thread, in multiply-adds/s and as
// a share of the table's int8 roof: 65536 columns of 1024 inputs for one row, which fit no cache,
// else 4096 columns of 4096.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "base/statistics.h"
#include "cpu/cpu.h"
#include "cpu/pack.h"
#include "cpu/roofs.h"
#include "cpu/test_weights.h"

namespace tempo9::cpu {
namespace {

// Multiply-adds/s; asked just before what it is compared with, since shared machines drift.
double int8_roof(const KernelTable& kernels) {
  ops::RoofOptions options;
  options.isa = kernels.name;
  options.n_repeats = 3;
  return summarize(measure_roof(ops::Roof::kInt8Dots, options)->rates).median;
}

void run_linear(benchmark::State& state, const KernelTable& kernels, DType type, uint32_t n_rows) {
  const uint32_t n_in = n_rows == 1 ? 1024 : 4096, n_out = n_rows == 1 ? 65536 : 4096;
  const Packing packing = *packing_of(type);
  const std::vector<uint8_t> file = random_weights(type, n_in, 16, 0.1f, 1);
  const size_t group_bytes = packed_group_bytes(packing, n_in);
  std::vector<uint8_t> packed(group_bytes * (n_out / kLanes));
  pack_group(packing, file.data(), file.size() / 16, n_in, 16, 0, packed.data());
  for (size_t at = group_bytes; at < packed.size(); at += group_bytes) {
    std::copy_n(packed.begin(), group_bytes, packed.begin() + static_cast<ptrdiff_t>(at));
  }
  const uint32_t n_blocks = n_in / kBlock;
  std::vector<float> x(size_t{n_rows} * n_in, 0.5f), out(size_t{n_rows} * n_out);
  std::vector<QuantBlock> blocks(n_rows * n_blocks);
  for (uint32_t r = 0; r < n_rows; ++r)
    kernels.quantize_row(&x[size_t{r} * n_in], n_in, &blocks[r * n_blocks]);
  std::vector<uint8_t> scratch(linear_scratch_bytes(n_rows) + 64);
  LinearArgs args;
  args.weights = packed.data();
  args.group_bytes = group_bytes;
  args.n_in = n_in;
  args.n_out = n_out;
  args.group_end = n_out / kLanes;
  args.n_rows = n_rows;
  args.x = x.data();
  args.x_stride = n_in;
  args.x_quant = {blocks.data(), n_blocks};
  args.out = out.data();
  args.out_stride = n_out;
  args.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  const double roof = int8_roof(kernels);
  for (auto _ : state) {
    kernels.linear[static_cast<size_t>(packing)](args);
    benchmark::DoNotOptimize(out.data());
  }
  const double macs = static_cast<double>(n_rows) * n_out * n_in;
  state.counters["mac/s"] = benchmark::Counter(macs, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["share of int8 roof"] =
      benchmark::Counter(macs / roof, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["weights B/s"] = benchmark::Counter(static_cast<double>(packed.size()),
                                                     benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace tempo9::cpu

int main(int argc, char** argv) {
  using namespace tempo9;
  for (const cpu::KernelTable* table : cpu::available_tables()) {
    for (const DType type :
         {DType::kQ4_K, DType::kQ5_0, DType::kQ8_0, DType::kQ6_K, DType::kQ5_K, DType::kQ4_0,
          DType::kQ4_1, DType::kQ5_1, DType::kQ2_K, DType::kQ3_K, DType::kIQ4_XS, DType::kIQ4_NL,
          DType::kMXFP4, DType::kIQ2_XXS, DType::kIQ3_S, DType::kF16, DType::kF32}) {
      for (const uint32_t rows : {1u, 8u, 16u, 32u, 512u}) {
        const std::string name = std::string("linear/") + table->name + "/" +
                                 std::string(dtype_info(type).name) +
                                 "/rows:" + std::to_string(rows);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& s) { cpu::run_linear(s, *table, type, rows); });
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
