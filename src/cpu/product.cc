#include "cpu/product.h"

#include <algorithm>

namespace tempo9::cpu {

std::vector<Chunk> plan_chunks(const std::vector<const Weight*>& matrices) {
  constexpr uint32_t kChunkGroups = 2;
  std::vector<Chunk> chunks;
  uint32_t column = 0;
  for (const Weight* w : matrices) {
    for (uint32_t group = 0; group < w->n_groups; group += kChunkGroups) {
      chunks.push_back({w, group, std::min(group + kChunkGroups, w->n_groups), column});
    }
    column += w->n_out;
  }
  return chunks;
}

namespace {

// Groups [chunk.group_begin, group_end) of its matrix.
void run_groups(const KernelTable& kernels, const Chunk& chunk, uint32_t group_end, uint32_t expert,
                LinearArgs args) {
  const Weight& w = *chunk.weight;
  args.n_in = w.n_in;
  args.n_out = w.n_out;
  args.out += chunk.first_column;
  if (args.bias != nullptr) args.bias += chunk.first_column;
  args.weights = w.memory.data() + w.group_bytes * w.n_groups * expert;
  args.scale = w.scale;
  args.group_bytes = w.group_bytes;
  args.group_begin = chunk.group_begin;
  args.group_end = group_end;
  kernels.linear[static_cast<size_t>(*w.packing)](args);
}

}  // namespace

uint32_t chunks_a_claim(uint32_t n_chunks, uint32_t n_rows, uint32_t n_threads) {
  if (n_rows <= 8) return std::max(1u, n_chunks / (4 * n_threads));
  constexpr uint32_t kMost = 4;
  return std::clamp(n_chunks / (8 * n_threads), 1u, kMost);
}

void run_chunks(const KernelTable& kernels, std::span<const Chunk> chunks, uint32_t expert,
                const LinearArgs& args) {
  while (!chunks.empty()) {
    size_t n = 1;
    while (n < chunks.size() && chunks[n].follows(chunks[n - 1])) ++n;
    run_groups(kernels, chunks[0], chunks[n - 1].group_end, expert, args);
    chunks = chunks.subspan(n);
  }
}

}  // namespace tempo9::cpu
