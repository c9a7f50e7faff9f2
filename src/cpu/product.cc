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

void run_chunk(const KernelTable& kernels, const Chunk& chunk, uint32_t expert, LinearArgs args) {
  const Weight& w = *chunk.weight;
  args.n_in = w.n_in;
  args.n_out = w.n_out;
  args.out += chunk.first_column;
  if (args.bias != nullptr) args.bias += chunk.first_column;
  args.weights = w.memory.data() + w.group_bytes * w.n_groups * expert;
  args.scale = w.scale;
  args.group_bytes = w.group_bytes;
  args.group_begin = chunk.group_begin;
  args.group_end = chunk.group_end;
  kernels.linear[static_cast<size_t>(*w.packing)](args);
}

}  // namespace tempo9::cpu
