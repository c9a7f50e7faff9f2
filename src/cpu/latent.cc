#include "cpu/latent.h"

#include <algorithm>
#include <span>

namespace tempo9::cpu {

Status Latent::load(const ops::Program& program, const std::vector<Weight>& weights,
                    uint32_t max_rows) {
  size_t n_bytes = 0;
  for (const ops::Op& op : program.ops) {
    const auto* heads = std::get_if<ops::HeadLinear>(&op);
    if (heads == nullptr) continue;
    const Weight& w = weights[static_cast<size_t>(heads->matrix.index)];
    if (!w.takes_quantized_rows()) continue;
    const size_t row_bytes = w.n_in / kBlock * sizeof(QuantBlock);
    n_bytes = std::max(n_bytes, row_bytes * w.n_experts * max_rows);
  }
  T9_TRY(rows_, Memory::reserve(n_bytes));
  return {};
}

QuantRows Latent::quantized(const ops::HeadLinear& op, const Weight& weight, const Activation& in,
                            uint32_t n_rows) {
  const uint32_t n = n_rows * weight.n_experts;
  QuantRows q;
  q.n_blocks = weight.n_in / kBlock;
  q.blocks = reinterpret_cast<QuantBlock*>(rows_.data());
  pool_.run(n, 16, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end; ++i) {
      const float* x = in.data + size_t{i % n_rows} * in.width + size_t{i / n_rows} * op.in_stride;
      kernels_.quantize_row(x, weight.n_in, q.blocks + size_t{i} * q.n_blocks);
    }
  });
  return q;
}

void Latent::linear(const ops::HeadLinear& op, const std::vector<Chunk>& chunks,
                    const Activation& in, const Activation& out, uint32_t n_rows, uint8_t* scratch,
                    size_t scratch_bytes) {
  const Weight& weight = *chunks.front().weight;
  const bool quantizes = weight.takes_quantized_rows();
  const QuantRows q = quantizes ? quantized(op, weight, in, n_rows) : QuantRows{};
  const auto n_chunks = static_cast<uint32_t>(chunks.size());
  const uint32_t n = weight.n_experts * n_chunks;
  const uint32_t grain = chunks_a_claim(n, n_rows, pool_.size());
  pool_.run(n, grain, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    each_product(chunks, begin, end, [&](uint32_t head, std::span<const Chunk> of_head) {
      if (interrupted_) return;
      LinearArgs args;
      args.n_rows = n_rows;
      args.x_quant = q;
      args.x_quant.blocks += size_t{head} * n_rows * q.n_blocks;
      args.x = in.data + size_t{head} * op.in_stride;
      args.x_stride = in.width;
      args.out = out.data + size_t{head} * op.out_stride;
      args.out_stride = out.width;
      args.scratch = scratch + scratch_bytes * thread;
      run_chunks(kernels_, of_head, head, args);
    });
  });
}

}  // namespace tempo9::cpu
