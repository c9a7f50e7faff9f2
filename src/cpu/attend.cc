#include "cpu/attend.h"

#include <algorithm>

namespace tempo9::cpu {
namespace {

constexpr size_t kCellsBytes = size_t{64} << 20;  // address space; touched as contexts grow

// Most query heads of one call. Where more share a kv head (latent attention has one for all), they
// are cut: so that their sums stay in the second-level cache, and one row keeps several threads
// busy.
constexpr uint32_t kCallHeads = 32;

uint32_t group_heads(const ops::Attention& op, const ops::KvLayer& kv) {
  return op.n_heads / kv.n_kv_heads;
}
uint32_t head_parts(const ops::Attention& op, const ops::KvLayer& kv) {
  return (group_heads(op, kv) + kCallHeads - 1) / kCallHeads;
}

}  // namespace

size_t Attend::scratch_bytes(const ops::Attention& op, const ops::KvLayer& kv) {
  return attention_scratch_bytes(std::min(group_heads(op, kv), kCallHeads), kv.head_dim);
}

Status Attend::load(uint32_t max_rows) {
  runs_.reserve(max_rows);
  pieces_.reserve(size_t{16} * pool_.size());  // of at most 2 items and 4 pieces a thread, uneven
  T9_TRY(cells_, Memory::reserve(kCellsBytes));
  return {};
}

void Attend::lay_out(const ops::Batch& batch) {
  batch_ = &batch;
  runs_.clear();
  for (uint32_t s = 0; s < batch.sequences.size(); ++s) {
    const ops::BatchSequence& sequence = batch.sequences[s];
    // Runs start at multiples of kAttentionRows of the sequence's rows; the last ones cost most and
    // go first.
    for (uint32_t i = 0; i < sequence.n_rows; i += kAttentionRows) {
      runs_.push_back({s, sequence.first_row + i, std::min(kAttentionRows, sequence.n_rows - i),
                       sequence.n_past + i});
    }
  }
  std::reverse(runs_.begin(), runs_.end());
}

AttentionArgs Attend::args_of(const Job& job, uint32_t item, uint32_t thread) const {
  const ops::Attention& op = job.op;
  const uint32_t n_parts = head_parts(op, job.kv), part = item % n_parts;
  const RowRun& rows = runs_[item / n_parts / job.kv.n_kv_heads];
  const uint32_t kv_head = item / n_parts % job.kv.n_kv_heads;
  const ops::BatchSequence& sequence = batch_->sequences[rows.sequence];
  AttentionArgs args;
  const uint32_t n_group = group_heads(op, job.kv), first = n_group * part / n_parts;
  args.n_group_heads = n_group * (part + 1) / n_parts - first;
  const size_t first_head = size_t{kv_head} * n_group + first;
  args.q = job.qkv.data + size_t{rows.first_row} * job.qkv.width + first_head * job.kv.head_dim;
  args.q_row_stride = job.qkv.width;
  args.out =
      job.out.data + size_t{rows.first_row} * job.out.width + first_head * job.kv.value_dim();
  args.out_row_stride = job.out.width;
  args.n_rows = rows.n_rows;
  args.head_dim = job.kv.head_dim;
  args.value_dim = job.kv.value_dim();
  args.first_position = rows.first_position;
  args.scale = op.scale;
  args.window = op.window;
  if (!op.causal) args.n_keys = sequence.n_past + sequence.n_rows;
  args.softcap = op.softcap;
  if (job.sinks != nullptr) args.sinks = job.sinks + first_head;
  args.arena = job.keys + job.head_bytes * kv_head;
  args.page_stride = job.page_stride;
  args.v_offset = job.v_offset;
  args.pages = sequence.pages.data();
  args.scratch = job.scratch + job.scratch_bytes * thread;
  return args;
}

// Cuts the cells of few long contexts into pieces, so that they occupy all threads. False: there is
// enough to do as it is, or no room for what comes out of the cells.
bool Attend::split_cells(const Job& job, uint32_t n_items) {
  if (pool_.size() == 1 || n_items >= 2 * pool_.size()) return false;
  pieces_.clear();
  size_t n_floats = 0;
  uint32_t n_cells = 0;
  for (uint32_t item = 0; item < n_items; ++item) n_cells += args_of(job, item, 0).n_cells();
  const uint32_t grain = std::max(2u, n_cells / (4 * pool_.size()));
  if (n_cells < 2 * grain) return false;
  for (uint32_t item = 0; item < n_items; ++item) {
    const AttentionArgs args = args_of(job, item, 0);
    const uint32_t end = args.first_cell() + args.n_cells();
    for (uint32_t begin = args.first_cell(); begin < end; begin += grain)
      pieces_.push_back({item, begin, std::min(begin + grain, end), n_floats});
    n_floats +=
        size_t{args.n_cells()} * args.n_rows * args.n_group_heads * cell_stride(args.value_dim);
  }
  return n_floats * sizeof(float) <= cells_.size();
}

void Attend::run(const Job& job) {
  const uint32_t n_items =
      static_cast<uint32_t>(runs_.size()) * job.kv.n_kv_heads * head_parts(job.op, job.kv);
  const auto attention = kernels_.attention[static_cast<size_t>(job.format)];
  if (!split_cells(job, n_items)) {
    pool_.run(n_items, 1, [&](uint32_t begin, uint32_t end, uint32_t thread) {
      for (uint32_t i = begin; i < end && !interrupted_; ++i) attention(args_of(job, i, thread));
    });
    return;
  }
  const auto args_of_piece = [&](const CellPiece& piece, uint32_t thread) {
    AttentionArgs args = args_of(job, piece.item, thread);
    args.cells = reinterpret_cast<float*>(cells_.data()) + piece.cells_offset;
    args.cell_begin = piece.cell_begin;
    args.cell_end = piece.cell_end;
    return args;
  };
  const auto n_pieces = static_cast<uint32_t>(pieces_.size());
  pool_.run(n_pieces, 1, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    for (uint32_t i = begin; i < end && !interrupted_; ++i)
      attention(args_of_piece(pieces_[i], thread));
  });
  const auto merge = kernels_.merge_cells[static_cast<size_t>(job.format)];
  pool_.run(n_pieces, 1, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    for (uint32_t i = begin; i < end && !interrupted_; ++i) {
      const bool first_of_item = i == 0 || pieces_[i].item != pieces_[i - 1].item;
      if (first_of_item) merge(args_of_piece(pieces_[i], thread));
    }
  });
}

}  // namespace tempo9::cpu
