// Products with packed weights, cut into chunks that threads take.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/weights.h"

namespace tempo9::cpu {

// Groups of one matrix that a thread takes together, and where their outputs begin.
struct Chunk {
  const Weight* weight;
  uint32_t group_begin, group_end;
  uint32_t first_column;  // of the matrix in the product's output

  bool follows(const Chunk& other) const {
    return weight == other.weight && group_begin == other.group_end &&
           first_column == other.first_column;
  }
};

// out (+)= [W0 x | W1 x ...]. With experts: each of them has all these chunks.
std::vector<Chunk> plan_chunks(const std::vector<const Weight*>& matrices);

// Chunks that a thread takes at a time. Few rows: long runs, so that each thread streams; a few per
// thread, so that a late thread holds little back. Many rows: neighbours, so that the weights of
// one are fetched while the one before it is multiplied.
uint32_t chunks_a_claim(uint32_t n_chunks, uint32_t n_rows, uint32_t n_threads);

// Computes the columns of neighbouring chunks, of the given expert (0 where there is but one
// matrix). args: n_rows, x, out of column 0, bias of column 0, add; scratch of this thread alone
// (linear_scratch_bytes).
void run_chunks(const KernelTable& kernels, std::span<const Chunk> chunks, uint32_t expert,
                const LinearArgs& args);

// Chunks [begin, end) of several products that have all of these chunks, one product behind the
// other: fn(product, its chunks) for each product among them.
template <typename Fn>
void each_product(std::span<const Chunk> chunks, uint32_t begin, uint32_t end, Fn fn) {
  const auto n_chunks = static_cast<uint32_t>(chunks.size());
  while (begin < end) {
    const uint32_t product = begin / n_chunks, first = begin % n_chunks;
    const uint32_t n = std::min(end - begin, n_chunks - first);
    fn(product, chunks.subspan(first, n));
    begin += n;
  }
}

}  // namespace tempo9::cpu
