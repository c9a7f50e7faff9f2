// Links: t9_quant
//
// The scalar codecs: bytes of weights read a second, and elements made. What the fast paths are
// compared with.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "quant/quant.h"
#include "tensor/dtype.h"

namespace {

using tempo9::quant::Format;

constexpr size_t kElements = 1 << 16;  // stays in the cache: the codec is measured, not the memory

void decode(benchmark::State& state, const Format& format) {
  const auto& info = tempo9::dtype_info(format.type);
  const size_t n_blocks = kElements / info.block_elements;
  const std::vector<uint8_t> blocks(n_blocks * info.block_bytes, 0x35);
  std::vector<float> out(kElements);
  for (auto _ : state) {
    format.decode(blocks.data(), out.data(), n_blocks);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(blocks.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kElements));
}

}  // namespace

int main(int argc, char** argv) {
  for (const Format& format : tempo9::quant::formats()) {
    benchmark::RegisterBenchmark(std::string(tempo9::dtype_info(format.type).name).c_str(),
                                 [&format](benchmark::State& state) { decode(state, format); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
