// Links: t9_cpu t9_quant t9_tensor t9_base
//
// The recurrences of Gated DeltaNet (key and value heads of 128) and Mamba2 (heads of 64, states of
// 128) on every table of this machine, one thread, one head: rows/s, floating-point operations/s
// and the bytes/s of state that they load and store, 512 rows a call and one.
#include <benchmark/benchmark.h>

#include "cpu/cpu.h"

namespace tempo9::cpu {
namespace {

constexpr uint32_t kStateRows = 128;

struct Inputs {
  explicit Inputs(uint32_t n_rows)
      : q(n_rows * kStateRows, 0.05f), k(n_rows * kStateRows, 0.06f), v(n_rows * kStateRows, 1.0f) {
    qk.resize(n_rows, 0.3f);
    decay.resize(n_rows, 0.9f);
    step.resize(n_rows, 0.5f);
    out.resize(n_rows * kStateRows);
    state.resize(state_floats(kStateRows, kStateRows), 0.1f);
  }
  std::vector<float> q, k, v, qk, decay, step, out, state;
};

// Of one row: operations, and the state's elements.
void count(benchmark::State& state, uint32_t n_rows, double operations, double elements) {
  using benchmark::Counter;
  const auto rate = [&](double n) { return Counter(n, Counter::kIsIterationInvariantRate); };
  state.counters["rows/s"] = rate(n_rows);
  state.counters["flop/s"] = rate(operations * n_rows);
  state.counters["state B/s"] = rate(2 * sizeof(float) * elements * n_rows);
}

void run_delta(benchmark::State& state, const KernelTable& kernels, uint32_t n_rows) {
  kernels.enter_thread();
  Inputs in(n_rows);
  DeltaRuleArgs args;
  args.q = in.q.data();
  args.k = in.k.data();
  args.v = in.v.data();
  args.qkv_stride = args.out_stride = kStateRows;
  args.qk = in.qk.data();
  args.decay = in.decay.data();
  args.beta = in.step.data();
  args.gate_stride = 1;
  args.out = in.out.data();
  args.state_in = args.state_out = in.state.data();
  args.key_dim = args.value_dim = args.column_end = kStateRows;
  args.n_rows = n_rows;
  for (auto _ : state) {
    kernels.delta_rule(args);
    benchmark::DoNotOptimize(in.out.data());
  }
  // A product, and three multiply-adds: of the update and of both sums.
  count(state, n_rows, 7.0 * kStateRows * kStateRows, 1.0 * kStateRows * kStateRows);
}

void run_scan(benchmark::State& state, const KernelTable& kernels, uint32_t n_rows) {
  kernels.enter_thread();
  Inputs in(n_rows);
  ScanArgs args;
  args.x = in.v.data();
  args.b = in.k.data();
  args.c = in.q.data();
  args.xbc_stride = args.out_stride = kStateRows;
  args.step = in.step.data();
  args.decay = in.decay.data();
  args.gate_stride = 1;
  args.d = 1.0f;
  args.out = in.out.data();
  args.state_in = args.state_out = in.state.data();
  args.state_dim = kStateRows;
  args.head_dim = args.column_end = 64;
  args.n_rows = n_rows;
  for (auto _ : state) {
    kernels.selective_scan(args);
    benchmark::DoNotOptimize(in.out.data());
  }
  // A product and two multiply-adds.
  count(state, n_rows, 5.0 * kStateRows * 64, 1.0 * kStateRows * 64);
}

}  // namespace
}  // namespace tempo9::cpu

int main(int argc, char** argv) {
  using namespace tempo9;
  for (const cpu::KernelTable* table : cpu::available_tables()) {
    for (const uint32_t n_rows : {1u, 512u}) {
      const std::string end = std::string("/") + table->name + "/" + std::to_string(n_rows);
      benchmark::RegisterBenchmark(("delta_rule" + end).c_str(), [=](benchmark::State& state) {
        cpu::run_delta(state, *table, n_rows);
      });
      benchmark::RegisterBenchmark(("selective_scan" + end).c_str(), [=](benchmark::State& state) {
        cpu::run_scan(state, *table, n_rows);
      });
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
