#include "cpu/recurrent.h"

#include <algorithm>
#include <cstring>

#include "cpu/cpu.h"

namespace tempo9::cpu {
namespace {

constexpr size_t kStateAlign = 64;     // of a part: a vector
constexpr size_t kStatePage = 4096;    // of a slot: the system's, so that it can be given back
constexpr uint32_t kConvColumns = 64;  // that a thread takes together: four lines of each row

size_t rounded_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

uint64_t state_bytes(const ops::Program& program) {
  size_t total = 0;
  for (const uint32_t n : program.state_parts) total += rounded_up(n * sizeof(float), kStateAlign);
  return rounded_up(total, kStatePage);
}

Status StateArena::reserve(const ops::Program& program, uint32_t n_slots) {
  size_t offset = 0;
  for (const uint32_t n : program.state_parts) {
    offsets_.push_back(offset);
    offset += rounded_up(n * sizeof(float), kStateAlign);
  }
  bytes_ = state_bytes(program);
  T9_TRY(memory_, Memory::reserve(bytes_ * n_slots));
  return {};
}

void StateArena::read(ops::StateSlot slot, std::span<uint8_t> out) const {
  std::memcpy(out.data(), memory_.data() + slot * bytes_, bytes_);
}

void StateArena::write(ops::StateSlot slot, std::span<const uint8_t> bytes) {
  std::memcpy(memory_.data() + slot * bytes_, bytes.data(), bytes_);
}

Status Recurrent::load(const ops::Program& program, uint32_t n_slots) {
  conv_weights_.resize(program.ops.size());
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const auto* conv = std::get_if<ops::CausalConv>(&program.ops[i]);
    if (conv == nullptr) continue;
    const std::vector<float>& weight = program.vectors[static_cast<size_t>(conv->weight.index)];
    const size_t width = weight.size() / conv->n_taps;
    conv_weights_[i].resize(weight.size());
    for (size_t c = 0; c < width; ++c) {
      for (size_t tap = 0; tap < conv->n_taps; ++tap)
        conv_weights_[i][tap * width + c] = weight[c * conv->n_taps + tap];
    }
  }
  targets_.resize(pool_.size());
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

void Recurrent::run(const ops::CausalConv& op, size_t op_index, const ops::Program& program,
                    const Plan& plan, const ops::Batch& batch) {
  const Activation& in = plan.activations[static_cast<size_t>(op.in.index)];
  const Activation& out = plan.activations[static_cast<size_t>(op.out.index)];
  const uint32_t width = out.width, n_blocks = (width + kConvColumns - 1) / kConvColumns;
  const float* bias =
      op.bias ? program.vectors[static_cast<size_t>(op.bias.index)].data() : nullptr;
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
        args.weight = conv_weights_[op_index].data() + column;
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

}  // namespace tempo9::cpu
