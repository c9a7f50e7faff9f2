#include "cpu/plan.h"

#include <algorithm>

#include "base/check.h"

namespace tempo9::cpu {
namespace {

struct Lifetime {
  size_t first = SIZE_MAX, last = 0;
  void touch(size_t op) {
    first = std::min(first, op);
    last = std::max(last, op);
  }
};

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};

std::vector<Lifetime> lifetimes(const ops::Program& program) {
  std::vector<Lifetime> lives(program.widths.size());
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const auto touch = [&](ops::TensorId id) { lives[static_cast<size_t>(id.index)].touch(i); };
    std::visit(
        Overload{
            [&](const ops::Embed& op) { touch(op.out); },
            [&](const ops::RopeAppend& op) { touch(op.qkv); },
            [&](const ops::LatentAppend& op) { touch(op.q), touch(op.latent), touch(op.out); },
            [&](const ops::Head& op) { touch(op.in); },
            [&](const ops::Scale& op) { touch(op.out); },
            [&](const ops::GatedActivation& op) {
              touch(op.in), touch(op.out);
              if (op.up.index >= 0) touch(op.up);
            },
            [&](const ops::Attention& op) { touch(op.qkv), touch(op.out); },
            [&](const ops::Route& op) { touch(op.logits), touch(op.out); },
            [&](const ops::ExpertLinear& op) { touch(op.in), touch(op.routes), touch(op.out); },
            [&](const ops::ExpertSum& op) { touch(op.in), touch(op.routes), touch(op.out); },
            [&](const ops::GatedDelta& op) { touch(op.qkv), touch(op.beta_alpha), touch(op.out); },
            [&](const ops::Mamba2Scan& op) { touch(op.xbc), touch(op.dt), touch(op.out); },
            [&](const ops::GatedNorm& op) { touch(op.in), touch(op.gate), touch(op.out); },
            [&](const ops::SigmoidGate& op) { touch(op.in), touch(op.gate), touch(op.out); },
            [&](const auto& op) { touch(op.in), touch(op.out); },
        },
        program.ops[i]);
  }
  return lives;
}

void mark_quantized(const ops::Program& program, const std::vector<Weight>& weights,
                    std::vector<Activation>& out) {
  for (const ops::Op& op : program.ops) {
    const auto product = ops::product_of(op);
    // A head's product quantises its own part of the rows.
    if (!product || std::holds_alternative<ops::HeadLinear>(op)) continue;
    for (const ops::MatrixId id : product->matrices) {
      if (weights[static_cast<size_t>(id.index)].takes_quantized_rows())
        out[static_cast<size_t>(product->in.index)].quantized = true;
    }
  }
  for (const ops::Op& op : program.ops) {
    const auto* experts = std::get_if<ops::ExpertLinear>(&op);
    T9_CHECK(experts == nullptr || !out[static_cast<size_t>(experts->out.index)].quantized);
  }
}

constexpr size_t kAlign = 64;
size_t aligned(size_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

struct Sizes {
  size_t f32, total;
};
Sizes sizes_of(const Activation& a, size_t n_rows) {
  Sizes s{};
  n_rows *= std::max(1u, a.n_slots);
  s.f32 = aligned(n_rows * a.width * sizeof(float));
  s.total = s.f32;
  if (a.quantized) s.total += aligned(n_rows * (a.width / kBlock) * sizeof(QuantBlock));
  return s;
}

void place(Activation& a, uint8_t* at, size_t n_rows) {
  const Sizes s = sizes_of(a, n_rows);
  a.data = reinterpret_cast<float*>(at);
  if (!a.quantized) return;
  T9_CHECK(a.width % kBlock == 0);
  a.quant.n_blocks = a.width / kBlock;
  a.quant.blocks = reinterpret_cast<QuantBlock*>(at + s.f32);
}

}  // namespace

void quantize_row(const KernelTable& kernels, const Activation& x, size_t r) {
  if (!x.quantized) return;
  const QuantRows& q = x.quant;
  kernels.quantize_row(x.data + r * x.width, x.width, q.blocks + r * q.n_blocks);
}

Result<Plan> plan_activations(const ops::Program& program, const std::vector<Weight>& weights,
                              uint32_t max_rows) {
  Plan plan;
  plan.activations.resize(program.widths.size());
  for (size_t i = 0; i < program.widths.size(); ++i) {
    plan.activations[i].width = program.widths[i];
    plan.activations[i].n_slots = program.n_slots[i];
  }
  mark_quantized(program, weights, plan.activations);
  const std::vector<Lifetime> lives = lifetimes(program);

  // Tensors come in the order of their first use; each takes a free buffer of exactly its size, or
  // a new one.
  struct Buffer {
    size_t bytes, offset, busy_until;
  };
  std::vector<Buffer> buffers;
  std::vector<size_t> offsets(lives.size());
  size_t total = 0;
  for (size_t i = 0; i < lives.size(); ++i) {
    const size_t bytes = sizes_of(plan.activations[i], max_rows).total;
    const auto free = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& b) {
      return b.bytes == bytes && b.busy_until < lives[i].first;
    });
    if (free != buffers.end()) {
      free->busy_until = lives[i].last;
      offsets[i] = free->offset;
    } else {
      buffers.push_back({bytes, total, lives[i].last});
      offsets[i] = total;
      total += bytes;
    }
  }
  T9_TRY(plan.memory, Memory::reserve(total));
  for (size_t i = 0; i < offsets.size(); ++i)
    place(plan.activations[i], plan.memory.data() + offsets[i], max_rows);
  return plan;
}

}  // namespace tempo9::cpu
