#include "cpu/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/cpu.h"

namespace tempo9::cpu {
namespace {

constexpr size_t kStateAlign = 64;     // of a part: a vector
constexpr size_t kStatePage = 4096;    // of a slot: the system's, so that it can be given back
constexpr uint32_t kConvColumns = 64;  // that a thread takes together: four lines of each row
constexpr uint32_t kWalkColumns = 32;  // likewise: 16 KB of a state with 128 rows
static_assert(ops::kStateTile == kLanes && kWalkColumns % kLanes == 0);

size_t rounded_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Where each part of a state begins, and behind them where the last one ends.
std::vector<size_t> part_offsets(const ops::Program& program) {
  std::vector<size_t> offsets = {0};
  for (const uint32_t n : program.state_parts)
    offsets.push_back(offsets.back() + rounded_up(n * sizeof(float), kStateAlign));
  return offsets;
}

}  // namespace

uint64_t state_bytes(const ops::Program& program) {
  return rounded_up(part_offsets(program).back(), kStatePage);
}

Status StateArena::reserve(const ops::Program& program, uint32_t n_slots) {
  offsets_ = part_offsets(program);
  bytes_ = rounded_up(offsets_.back(), kStatePage);
  T9_TRY(memory_, Memory::reserve(bytes_ * n_slots));
  return {};
}

void StateArena::read(ops::StateSlot slot, std::span<uint8_t> out) const {
  std::memcpy(out.data(), memory_.data() + slot * bytes_, bytes_);
}

void StateArena::write(ops::StateSlot slot, std::span<const uint8_t> bytes) {
  std::memcpy(memory_.data() + slot * bytes_, bytes.data(), bytes_);
}

Status Recurrent::load(const ops::Program& program, const Plan& plan, uint32_t max_rows,
                       uint32_t n_slots) {
  program_ = &program;
  plan_ = &plan;
  conv_weights_.resize(program.state_parts.size());
  for (const ops::Op& op : program.ops) {
    const auto* conv = std::get_if<ops::CausalConv>(&op);
    if (conv == nullptr) continue;
    const std::vector<float>& weight = vector(conv->weight);
    const size_t width = weight.size() / conv->n_taps;
    std::vector<float>& by_tap = conv_weights_[conv->state_part];
    by_tap.resize(weight.size());
    for (size_t c = 0; c < width; ++c) {
      for (size_t tap = 0; tap < conv->n_taps; ++tap)
        by_tap[tap * width + c] = weight[c * conv->n_taps + tap];
    }
  }
  targets_.resize(pool_.size());
  size_t n_gates = 0;
  for (const ops::Op& op : program.ops) {
    if (const auto* delta = std::get_if<ops::GatedDelta>(&op)) {
      n_gates = std::max<size_t>(n_gates, delta->n_key_heads + 2 * delta->n_value_heads);
      unwanted_floats_ = std::max(unwanted_floats_, state_floats(delta->key_dim, delta->value_dim));
    }
    if (const auto* scan = std::get_if<ops::Mamba2Scan>(&op)) {
      n_gates = std::max<size_t>(n_gates, 2 * scan->n_heads);
      unwanted_floats_ = std::max(unwanted_floats_, state_floats(scan->state_dim, scan->head_dim));
    }
  }
  gates_.resize(n_gates * max_rows);
  T9_TRY(unwanted_, Memory::reserve(unwanted_floats_ * sizeof(float) * pool_.size()));
  return arena_.reserve(program, n_slots);
}

std::span<const StateTarget> Recurrent::targets(const ops::BatchSequence& sequence,
                                                uint32_t state_part, size_t offset,
                                                uint32_t thread) {
  std::vector<StateTarget>& out = targets_[thread];
  out.clear();
  for (const ops::StateOut& state : sequence.states_out)
    out.push_back({state.row, arena_.part(state.slot, state_part) + offset});
  return out;
}

void Recurrent::run(const ops::CausalConv& op, const ops::Batch& batch) {
  const Activation& in = tensor(op.in);
  const Activation& out = tensor(op.out);
  const uint32_t width = out.width, n_blocks = (width + kConvColumns - 1) / kConvColumns;
  const float* bias = op.bias ? vector(op.bias).data() : nullptr;
  const auto n_items = static_cast<uint32_t>(batch.sequences.size()) * n_blocks;
  pool_.run(n_items, 1, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    for (uint32_t item = begin; item < end && !interrupted_; ++item) {
      const ops::BatchSequence& sequence = batch.sequences[item / n_blocks];
      const uint32_t first = item % n_blocks * kConvColumns;
      for (uint32_t column = first; column < std::min(first + kConvColumns, width);
           column += kLanes) {
        const std::span<const StateTarget> states =
            targets(sequence, op.state_part, column, thread);
        ConvArgs args;
        args.in = in.data + size_t{sequence.first_row} * in.width + column;
        if (op.gated) {
          args.in_gate = args.in;
          args.out_gate = args.in + width;
          args.in += size_t{2} * width;
        }
        args.in_stride = in.width;
        args.weight = conv_weights_[op.state_part].data() + column;
        args.weight_stride = args.state_stride = width;
        args.bias = bias ? bias + column : nullptr;
        args.silu = op.silu;
        args.n_rows = sequence.n_rows;
        args.n_taps = op.n_taps;
        args.n_columns = std::min(kLanes, width - column);
        if (sequence.state_in != ops::kNoSlot)
          args.state_in = arena_.part(sequence.state_in, op.state_part) + column;
        args.states_out = states.data();
        args.n_states_out = static_cast<uint32_t>(states.size());
        args.out = out.data + size_t{sequence.first_row} * width + column;
        args.out_stride = width;
        kernels_.causal_conv(args);
      }
    }
  });
}

template <typename Fn>
void Recurrent::each_walk(const ops::Batch& batch, uint32_t n_heads, uint32_t n_columns, Fn fn) {
  const uint32_t n_blocks = (n_columns + kWalkColumns - 1) / kWalkColumns;
  const uint32_t n_walks = n_heads * n_blocks;
  const auto n_items = static_cast<uint32_t>(batch.sequences.size()) * n_walks;
  // Few rows: long runs of a state's memory a thread, yet a late one holds little back.
  const bool few_rows = batch.tokens.size() <= 8;
  const uint32_t grain = few_rows ? std::max(1u, n_items / (4 * pool_.size())) : 1;
  pool_.run(n_items, grain, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    for (uint32_t item = begin; item < end && !interrupted_; ++item) {
      const uint32_t first = item % n_blocks * kWalkColumns;
      fn(Walk{batch.sequences[item / n_walks], item % n_walks / n_blocks, first,
              std::min(first + kWalkColumns, n_columns), thread});
    }
  });
}

template <typename Fn>
void Recurrent::each_piece(const Walk& walk, uint32_t state_part, uint32_t d_in, uint32_t n_columns,
                           Fn fn) {
  const size_t head_floats = state_floats(d_in, n_columns);
  const auto in_slot = [&](ops::StateSlot slot) {
    return arena_.part(slot, state_part) + walk.head * head_floats;
  };
  const ops::StateSlot slot_in = walk.sequence.state_in;
  const float* before = slot_in != ops::kNoSlot ? in_slot(slot_in) : nullptr;
  uint32_t row = 0;
  for (const ops::StateOut& wanted : walk.sequence.states_out) {
    float* behind = in_slot(wanted.slot);
    if (wanted.row >= row) {
      fn(row, wanted.row + 1 - row, before, behind);
      row = wanted.row + 1;
    } else {  // the same row's, once more
      const size_t first = state_floats(d_in, walk.column_begin);
      const size_t n = state_floats(d_in, walk.column_end) - first;
      std::memcpy(behind + first, before + first, n * sizeof(float));
    }
    before = behind;
  }
  if (row < walk.sequence.n_rows) {
    float* unwanted = reinterpret_cast<float*>(unwanted_.data()) + unwanted_floats_ * walk.thread;
    fn(row, walk.sequence.n_rows - row, before, unwanted);
  }
}

void Recurrent::run(const ops::GatedDelta& op, const ops::Batch& batch) {
  const Activation& qkv = tensor(op.qkv);
  const Activation& raw = tensor(op.beta_alpha);
  const Activation& out = tensor(op.out);
  const uint32_t n_heads = op.n_value_heads, shared = n_heads / op.n_key_heads;
  const size_t k_offset = size_t{op.n_key_heads} * op.key_dim,
               n_gates = op.n_key_heads + 2 * n_heads;
  DeltaGatesArgs gates;
  gates.n_key_heads = op.n_key_heads;
  gates.key_dim = op.key_dim;
  gates.eps = 1e-6f;
  gates.q_scale = 1.0f / std::sqrt(static_cast<float>(op.key_dim));
  gates.n_value_heads = n_heads;
  gates.n_run = op.interleaved ? shared : n_heads;
  gates.run_stride = 2 * gates.n_run;
  gates.a = vector(op.a).data();
  gates.dt_bias = vector(op.dt_bias).data();
  pool_.run(static_cast<uint32_t>(batch.tokens.size()), 4,
            [&](uint32_t begin, uint32_t end, uint32_t) {
              for (uint32_t r = begin; r < end; ++r) {
                DeltaGatesArgs one = gates;
                one.q = qkv.data + size_t{r} * qkv.width;
                one.k = one.q + k_offset;
                one.beta = raw.data + size_t{r} * raw.width;
                one.alpha = one.beta + gates.n_run;
                one.qk = gates_.data() + r * n_gates;
                one.decay = one.qk + op.n_key_heads;
                one.beta_out = one.decay + n_heads;
                kernels_.delta_gates(one);
              }
            });
  each_walk(batch, n_heads, op.value_dim, [&](const Walk& walk) {
    const uint32_t key_head = op.tiled ? walk.head % op.n_key_heads : walk.head / shared;
    each_piece(walk, op.state_part, op.key_dim, op.value_dim,
               [&](uint32_t row, uint32_t n_rows, const float* before, float* behind) {
                 const size_t r = size_t{walk.sequence.first_row} + row;
                 DeltaRuleArgs args;
                 args.qkv_stride = qkv.width;
                 args.q = qkv.data + r * qkv.width + size_t{key_head} * op.key_dim;
                 args.k = args.q + k_offset;
                 args.v =
                     qkv.data + r * qkv.width + 2 * k_offset + size_t{walk.head} * op.value_dim;
                 args.gate_stride = n_gates;
                 args.qk = gates_.data() + r * n_gates + key_head;
                 args.decay = gates_.data() + r * n_gates + op.n_key_heads + walk.head;
                 args.beta = args.decay + n_heads;
                 args.out_stride = out.width;
                 args.out = out.data + r * out.width + size_t{walk.head} * op.value_dim;
                 args.state_in = before;
                 args.state_out = behind;
                 args.key_dim = op.key_dim;
                 args.value_dim = op.value_dim;
                 args.column_begin = walk.column_begin;
                 args.column_end = walk.column_end;
                 args.n_rows = n_rows;
                 kernels_.delta_rule(args);
               });
  });
}

void Recurrent::run(const ops::Mamba2Scan& op, const ops::Batch& batch) {
  const Activation& xbc = tensor(op.xbc);
  const Activation& dt = tensor(op.dt);
  const Activation& out = tensor(op.out);
  const size_t n_gates = 2 * size_t{op.n_heads};
  pool_.run(static_cast<uint32_t>(batch.tokens.size()), 16,
            [&](uint32_t begin, uint32_t end, uint32_t) {
              for (uint32_t r = begin; r < end; ++r) {
                ScanGatesArgs gates;
                gates.dt = dt.data + size_t{r} * dt.width;
                gates.dt_bias = vector(op.dt_bias).data();
                gates.a = vector(op.a).data();
                gates.n_heads = op.n_heads;
                gates.step = gates_.data() + r * n_gates;
                gates.decay = gates.step + op.n_heads;
                kernels_.scan_gates(gates);
              }
            });
  each_walk(batch, op.n_heads, op.head_dim, [&](const Walk& walk) {
    const uint32_t group = walk.head / (op.n_heads / op.n_groups);
    each_piece(walk, op.state_part, op.state_dim, op.head_dim,
               [&](uint32_t row, uint32_t n_rows, const float* before, float* behind) {
                 const size_t r = size_t{walk.sequence.first_row} + row;
                 ScanArgs args;
                 args.xbc_stride = xbc.width;
                 args.x = xbc.data + r * xbc.width + size_t{walk.head} * op.head_dim;
                 args.b = xbc.data + r * xbc.width + size_t{op.n_heads} * op.head_dim +
                          size_t{group} * op.state_dim;
                 args.c = args.b + size_t{op.n_groups} * op.state_dim;
                 args.gate_stride = n_gates;
                 args.step = gates_.data() + r * n_gates + walk.head;
                 args.decay = args.step + op.n_heads;
                 args.d = vector(op.d)[walk.head];
                 args.out_stride = out.width;
                 args.out = out.data + r * out.width + size_t{walk.head} * op.head_dim;
                 args.state_in = before;
                 args.state_out = behind;
                 args.state_dim = op.state_dim;
                 args.head_dim = op.head_dim;
                 args.column_begin = walk.column_begin;
                 args.column_end = walk.column_end;
                 args.n_rows = n_rows;
                 kernels_.selective_scan(args);
               });
  });
}

void Recurrent::run(const ops::GatedNorm& op, const ops::Batch& batch) {
  const Activation &in = tensor(op.in), &gate = tensor(op.gate), &out = tensor(op.out);
  const std::vector<float>& weight = vector(op.weight);
  const auto n_rows = static_cast<uint32_t>(batch.tokens.size());
  pool_.run(n_rows, 2, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (size_t r = begin; r < end; ++r) {
      for (size_t i = 0; i < out.width; i += op.group_width) {
        const size_t at = r * out.width + i;
        kernels_.gated_rms_norm(in.data + at, gate.data + at, weight.data() + i % weight.size(),
                                op.group_width, op.eps, op.gate_first, out.data + at);
      }
      quantize_row(kernels_, out, r);
    }
  });
}

}  // namespace tempo9::cpu
