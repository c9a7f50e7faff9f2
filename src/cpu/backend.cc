// The CPU backend: walks a program's ops for each step; every op is one job of the thread pool.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "cpu/attend.h"
#include "cpu/cpu.h"
#include "cpu/experts.h"
#include "cpu/kv_arena.h"
#include "cpu/latent.h"
#include "cpu/logits.h"
#include "cpu/memory.h"
#include "cpu/plan.h"
#include "cpu/product.h"
#include "cpu/recurrent.h"
#include "cpu/rope_table.h"
#include "cpu/thread_pool.h"
#include "cpu/weights.h"

namespace tempo9::cpu {
namespace {

size_t at(auto id) { return static_cast<size_t>(id.index); }

class CpuBackend final : public ops::Backend {
 public:
  CpuBackend(const ops::Program& program, const ops::BackendOptions& options,
             const KernelTable& kernels)
      : program_(program),
        options_(options),
        kernels_(kernels),
        pool_(options.n_threads, kernels.enter_thread),
        logits_(kernels, pool_),
        attend_(kernels, pool_, interrupted_),
        latent_(kernels, pool_, interrupted_),
        experts_(kernels, pool_, interrupted_),
        recurrent_(kernels, pool_, interrupted_) {
    name_ = std::string("cpu/") + kernels.name;
  }

  Status load();

  Result<std::span<const float>> step(const ops::Batch& batch) override;
  std::span<const float> run_maxima() const override { return last_run_maxima_; }
  std::span<const float> states() const override { return states_; }
  void interrupt() override { interrupted_ = true; }
  void copy_page(ops::PageId from, ops::PageId to, uint32_t n_tokens) override {
    arena_.copy(from, to, n_tokens);
  }
  void copy_part(ops::PageId from, ops::PageId to, size_t page_class) override {
    arena_.copy_part(from, to, page_class);
  }
  void drop_part(ops::PageId page, size_t page_class) override {
    arena_.drop_part(page, page_class);
  }
  void read_page(ops::PageId page, std::span<uint8_t> out) const override {
    arena_.read(page, out);
  }
  void write_page(ops::PageId page, std::span<const uint8_t> bytes) override {
    arena_.write(page, bytes);
  }
  void drop_state(ops::StateSlot slot) override { recurrent_.arena().drop(slot); }
  void read_state(ops::StateSlot slot, std::span<uint8_t> out) const override {
    recurrent_.arena().read(slot, out);
  }
  void write_state(ops::StateSlot slot, std::span<const uint8_t> bytes) override {
    recurrent_.arena().write(slot, bytes);
  }
  uint64_t page_bytes() const override { return arena_.page_bytes(); }
  uint64_t state_bytes() const override { return recurrent_.arena().bytes(); }
  uint64_t weight_bytes() const override { return bytes_of(weights_); }
  std::string_view name() const override { return name_; }
  std::string_view numerics() const override { return kNumerics; }

 private:
  Status plan_scratch();
  void lay_out_rows(const ops::Batch& batch);
  bool ends_early(const ops::Op& op) const;

  void run(const ops::Embed& op);
  void run(const ops::RmsNorm& op);
  void run(const ops::LayerNorm& op);
  void run(const ops::Linear& op);
  void run(const ops::HeadLinear& op) {
    latent_.linear(op, chunks_[op_index_], tensor(op.in), tensor(op.out), n_rows_, scratch_.data(),
                   scratch_bytes_);
    quantize_rows(tensor(op.out));
  }
  void run(const ops::RopeAppend& op);
  void run(const ops::LatentAppend& op);
  void run(const ops::Attention& op);
  void run(const ops::GatedActivation& op);
  void run(const ops::Gelu& op) {
    const Activation& in = tensor(op.in);
    each_row(in, tensor(op.out), [&](const float* x, float* y) { kernels_.gelu(x, in.width, y); });
  }
  void run(const ops::Route& op) {
    experts_.route(op, vector(op.bias), vector(op.scales), tensor(op.logits), tensor(op.out),
                   n_rows_);
  }
  void run(const ops::ExpertLinear& op) {
    experts_.linear(chunks_[op_index_], vector(op.bias), tensor(op.in), tensor(op.routes),
                    tensor(op.out), n_rows_, scratch_.data(), scratch_bytes_);
  }
  void run(const ops::ExpertSum& op) {
    experts_.sum(tensor(op.in), tensor(op.routes), tensor(op.out), n_rows_, op.add);
    if (!op.add) quantize_rows(tensor(op.out));
  }
  void run(const ops::ReluSquared& op) {
    const Activation& in = tensor(op.in);
    each_row(in, tensor(op.out),
             [&](float* x, float* y) { kernels_.relu_squared(x, in.width, y); });
  }
  void run(const ops::CausalConv& op) { run_recurrent(op); }
  void run(const ops::GatedDelta& op) { run_recurrent(op); }
  void run(const ops::Mamba2Scan& op) { run_recurrent(op); }
  void run(const ops::GatedNorm& op) { recurrent_.run(op, *batch_); }
  void run(const ops::SigmoidGate& op) {
    const Activation &in = tensor(op.in), &gate = tensor(op.gate), &out = tensor(op.out);
    each_row(n_rows_, [&](uint32_t r) {
      kernels_.sigmoid_gate(row(in, r), row(gate, r), gate.width, in.width, row(out, r));
      quantize(out, r);
    });
  }
  void run(const ops::Scale& op);
  void run(const ops::SelectRows& op);
  void run(const ops::Head& op);

  void run_recurrent(const auto& op) {
    recurrent_.run(op, *batch_);
    quantize_rows(tensor(op.out));  // not before: its columns come from several threads
  }

  // out (+)= W x for all chunks.
  void product(const std::vector<Chunk>& chunks, const Activation& x, LinearArgs args);
  void quantize(const Activation& x, uint32_t r) const { quantize_row(kernels_, x, r); }
  void quantize_rows(const Activation& x) {
    if (x.quantized) each_row(n_rows_, [&](uint32_t r) { quantize(x, r); });
  }
  template <typename Fn>
  void each_row(uint32_t n_rows, Fn fn) {
    pool_.run(n_rows, 4, [&](uint32_t begin, uint32_t end, uint32_t) {
      for (uint32_t r = begin; r < end; ++r) fn(r);
    });
  }
  // fn(row of in, row of out) for all rows, and their slots.
  template <typename Fn>
  void each_row(const Activation& in, const Activation& out, Fn fn) {
    each_row(n_rows_ * std::max(1u, in.n_slots), [&](uint32_t r) {
      fn(row(in, r), row(out, r));
      quantize(out, r);
    });
  }
  Activation& tensor(ops::TensorId id) { return plan_.activations[at(id)]; }
  const float* vector(ops::VectorId id) const {
    return id ? program_.vectors[at(id)].data() : nullptr;
  }
  float* row(const Activation& a, uint32_t r) const { return a.data + size_t{r} * a.width; }
  // Where row r's keys and values go.
  ops::PageId page_of(uint32_t r) const {
    return batch_->sequences[row_sequence_[r]].pages[row_position_[r] / ops::kPageTokens];
  }
  // Turns a head of row r to the row's position.
  void rotate(float* head, uint32_t rope, uint32_t r) const {
    const auto n_pairs = static_cast<uint32_t>(program_.ropes[rope].inv_freq.size());
    kernels_.rope(head, cosines_[rope].data() + size_t{n_pairs} * r,
                  sines_[rope].data() + size_t{n_pairs} * r, n_pairs, program_.ropes[rope].neox);
  }

  ops::Program program_;  // its matrices' bytes are not read after load()
  ops::BackendOptions options_;
  const KernelTable& kernels_;
  ThreadPool pool_;
  std::string name_;
  std::vector<Weight> weights_;
  Plan plan_;
  std::vector<std::vector<Chunk>> chunks_;  // by op; empty for ops that are no products
  Memory scratch_;
  size_t scratch_bytes_ = 0;  // a thread

  KvArena arena_;

  // The step that is running.
  const ops::Batch* batch_ = nullptr;
  std::span<const float> states_, last_run_maxima_;
  size_t op_index_ = 0;
  uint32_t n_rows_ = 0;
  std::vector<uint32_t> row_position_, row_sequence_;
  std::vector<std::vector<float>> cosines_, sines_;  // by rope, [max_rows, n_pairs]
  std::vector<std::vector<float>> q_factors_;        // by rope, [max_rows]
  bool entered_ = false;
  // Looked at between ops, and between the pieces of the long ones.
  std::atomic<bool> interrupted_{false};
  Logits logits_;
  Attend attend_;
  Latent latent_;
  Experts experts_;
  Recurrent recurrent_;
  SteadyClock clock_;
};

Status CpuBackend::load() {
  T9_TRY(weights_, load_weights(program_, pool_, options_));
  options_.on_read = nullptr;
  options_.log = nullptr;
  for (ops::Matrix& matrix : program_.matrices) matrix.data = {};
  program_.made.clear();
  T9_TRY(plan_, plan_activations(program_, weights_, options_.max_rows));
  if (options_.op_seconds) options_.op_seconds->assign(program_.ops.size(), 0.0);
  chunks_.resize(program_.ops.size());
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    const auto product = ops::product_of(program_.ops[i]);
    if (!product) continue;
    std::vector<const Weight*> weights;
    for (const ops::MatrixId id : product->matrices) weights.push_back(&weights_[at(id)]);
    chunks_[i] = plan_chunks(weights);
  }
  T9_TRY(latent_.load(program_, weights_, options_.max_rows));
  T9_TRY(experts_.load(program_, weights_, options_.max_rows));
  T9_TRY(recurrent_.load(program_, plan_, options_.max_rows, options_.max_states));
  T9_TRY(plan_scratch());
  T9_TRY(logits_.reserve(options_.max_logit_rows, program_.n_vocab));
  T9_TRY(arena_.reserve(program_, options_.kv_type, options_.max_pages));
  row_position_.resize(options_.max_rows);
  row_sequence_.resize(options_.max_rows);
  T9_TRY(attend_.load(options_.max_rows));
  for (const ops::Rope& rope : program_.ropes) {
    cosines_.emplace_back(options_.max_rows * rope.inv_freq.size());
    sines_.emplace_back(options_.max_rows * rope.inv_freq.size());
    q_factors_.emplace_back(options_.max_rows);
  }
  return {};
}

Status CpuBackend::plan_scratch() {
  for (const ops::Op& op : program_.ops) {
    if (const auto* attention = std::get_if<ops::Attention>(&op)) {
      const ops::KvLayer& kv = program_.kv_layers[attention->kv_layer];
      scratch_bytes_ = std::max(scratch_bytes_, Attend::scratch_bytes(*attention, kv));
    }
  }
  scratch_bytes_ = std::max(scratch_bytes_, linear_scratch_bytes(options_.max_rows));
  for (const ops::Op& op : program_.ops) {
    const auto* embed = std::get_if<ops::Embed>(&op);
    if (embed == nullptr || embed->positions.index < 0) continue;
    const uint32_t width = plan_.activations[at(embed->out)].width;  // a row of positions
    scratch_bytes_ = std::max(scratch_bytes_, width * sizeof(float));
  }
  scratch_bytes_ = (scratch_bytes_ + 4095) / 4096 * 4096;
  T9_TRY(scratch_, Memory::reserve(scratch_bytes_ * pool_.size()));
  return {};
}

void CpuBackend::lay_out_rows(const ops::Batch& batch) {
  attend_.lay_out(batch);
  for (uint32_t s = 0; s < batch.sequences.size(); ++s) {
    const ops::BatchSequence& sequence = batch.sequences[s];
    for (uint32_t i = 0; i < sequence.n_rows; ++i) {
      row_position_[sequence.first_row + i] = sequence.n_past + i;
      row_sequence_[sequence.first_row + i] = s;
    }
  }
  for (size_t r = 0; r < program_.ropes.size(); ++r) {
    const size_t n = program_.ropes[r].inv_freq.size();
    each_row(n_rows_, [&](uint32_t i) {
      rope_angles(program_.ropes[r], row_position_[i], cosines_[r].data() + n * i,
                  sines_[r].data() + n * i);
      q_factors_[r][i] = q_factor(program_.ropes[r], row_position_[i]);
    });
  }
}

// Nobody wants what op and those behind it give.
bool CpuBackend::ends_early(const ops::Op& op) const {
  if (!batch_->logit_rows.empty()) return false;
  return std::holds_alternative<ops::Head>(op) ||
         (batch_->state_rows.empty() && std::holds_alternative<ops::SelectRows>(op));
}

Result<std::span<const float>> CpuBackend::step(const ops::Batch& batch) {
  if (!entered_) kernels_.enter_thread();
  entered_ = true;
  batch_ = &batch;
  n_rows_ = static_cast<uint32_t>(batch.tokens.size());
  T9_CHECK(n_rows_ > 0 && n_rows_ <= options_.max_rows &&
           batch.logit_rows.size() <= options_.max_logit_rows &&
           batch.logit_rows.size() + batch.state_rows.size() <= n_rows_);
  lay_out_rows(batch);
  for (op_index_ = 0; op_index_ < program_.ops.size(); ++op_index_) {
    if (interrupted_) return make_error(ErrorCode::kCancelled, "the step was interrupted");
    const ops::Op& op = program_.ops[op_index_];
    if (ends_early(op)) break;
    const Clock::Nanoseconds begin = options_.op_seconds ? clock_.now() : Clock::Nanoseconds{};
    std::visit([this](const auto& concrete) { run(concrete); }, op);
    if (options_.op_seconds) (*options_.op_seconds)[op_index_] += to_seconds(clock_.now() - begin);
  }
  if (interrupted_) return make_error(ErrorCode::kCancelled, "the step was interrupted");
  const Activation& state = tensor(std::get<ops::Head>(program_.ops.back()).in);
  last_run_maxima_ = logits_.run_maxima(batch.logit_rows.size());
  states_ = std::span<const float>(row(state, static_cast<uint32_t>(batch.logit_rows.size())),
                                   batch.state_rows.size() * state.width);
  return logits_.values(batch.logit_rows.size());
}

void CpuBackend::run(const ops::Embed& op) {
  const Activation& out = tensor(op.out);
  const float* offset = vector(op.offset);
  pool_.run(n_rows_, 16, [&](uint32_t begin, uint32_t end, uint32_t thread) {
    for (uint32_t r = begin; r < end; ++r) {
      float* x = row(out, r);
      read_row(weights_[at(op.table)], static_cast<uint32_t>(batch_->tokens[r]), x);
      for (uint32_t i = 0; op.scale != 1.0f && i < out.width; ++i) x[i] *= op.scale;
      if (op.positions.index >= 0) {
        float* position = reinterpret_cast<float*>(scratch_.data() + scratch_bytes_ * thread);
        read_row(weights_[at(op.positions)], row_position_[r], position);
        kernels_.add_scaled(position, 1.0f, out.width, x);
      }
      if (offset) kernels_.add_scaled(offset, 1.0f, out.width, x);
      quantize(out, r);
    }
  });
}

void CpuBackend::run(const ops::RmsNorm& op) {
  const Activation& in = tensor(op.in);
  const auto n = static_cast<uint32_t>(program_.vectors[at(op.weight)].size());
  each_row(in, tensor(op.out), [&](float* x, float* y) {
    for (uint32_t i = 0; i < in.width; i += n)
      kernels_.rms_norm(x + i, vector(op.weight), n, op.eps, y + i, op.add);
  });
}

void CpuBackend::run(const ops::LayerNorm& op) {
  const Activation& in = tensor(op.in);
  each_row(in, tensor(op.out), [&](const float* x, float* y) {
    kernels_.layer_norm(x, vector(op.weight), vector(op.bias), in.width, op.eps, y);
  });
}

void CpuBackend::run(const ops::Linear& op) {
  const Activation& out = tensor(op.out);
  LinearArgs args;
  args.out = out.data;
  args.out_stride = out.width;
  args.bias = vector(op.bias);
  args.add = op.add;
  product(chunks_[op_index_], tensor(op.in), args);
  quantize_rows(out);  // not before: its columns come from several threads
}

void CpuBackend::run(const ops::Head& op) {
  n_rows_ = static_cast<uint32_t>(batch_->logit_rows.size());  // they stand in front
  LinearArgs args;
  args.out = logits_.data();
  args.out_stride = program_.n_vocab;
  product(chunks_[op_index_], tensor(op.in), args);
  logits_.finish(n_rows_, op.softcap);
}

void CpuBackend::product(const std::vector<Chunk>& chunks, const Activation& x, LinearArgs args) {
  args.n_rows = n_rows_;
  args.x_quant = x.quant;
  args.x = x.data;
  args.x_stride = x.width;
  const auto n = static_cast<uint32_t>(chunks.size());
  pool_.run(n, chunks_a_claim(n, n_rows_, pool_.size()),
            [&](uint32_t begin, uint32_t end, uint32_t thread) {
              if (interrupted_) return;
              LinearArgs mine = args;
              mine.scratch = scratch_.data() + scratch_bytes_ * thread;
              run_chunks(kernels_, std::span(chunks).subspan(begin, end - begin), 0, mine);
            });
}

void CpuBackend::run(const ops::RopeAppend& op) {
  const Activation& qkv = tensor(op.qkv);
  const ops::KvLayer& kv = program_.kv_layers[op.kv_layer];
  const KvArena::LayerPlace& place = arena_.layer(op.kv_layer);
  const auto append = kernels_.append_kv[static_cast<size_t>(place.format)];
  const uint32_t n_kv_heads = op.append ? kv.n_kv_heads : 0;
  const uint32_t n_rotated = op.n_heads + n_kv_heads;
  pool_.run(n_rows_, 4, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t r = begin; r < end; ++r) {
      float* x = row(qkv, r);
      for (uint32_t head = 0; head < n_rotated; ++head) {
        float* h = x + size_t{head} * kv.head_dim;
        const ops::VectorId norm = head < op.n_heads ? op.q_norm : op.k_norm;
        if (norm) kernels_.rms_norm(h, vector(norm), kv.head_dim, op.norm_eps, h, false);
        rotate(h, op.rope, r);
        const float factor = head < op.n_heads ? q_factors_[op.rope][r] : 1.0f;
        for (uint32_t d = 0; factor != 1.0f && d < kv.head_dim; ++d) h[d] *= factor;
      }
      const ops::PageId page = page_of(r);
      const float* k = x + size_t{op.n_heads} * kv.head_dim;
      float* values = x + size_t{n_rotated} * kv.head_dim;
      for (uint32_t head = 0; head < n_kv_heads; ++head) {
        uint8_t* at_head = arena_.head(page, place, head);
        float* v = values + size_t{head} * kv.head_dim;
        if (op.v_norm) kernels_.rms_norm(v, vector(op.v_norm), kv.head_dim, op.norm_eps, v, false);
        append(k + size_t{head} * kv.head_dim, v, kv.head_dim, kv.head_dim,
               row_position_[r] % ops::kPageTokens, at_head, at_head + place.head.v_offset());
      }
    }
  });
}

void CpuBackend::run(const ops::LatentAppend& op) {
  const Activation &q = tensor(op.q), &latent = tensor(op.latent), &out = tensor(op.out);
  const KvArena::LayerPlace& place = arena_.layer(op.kv_layer);
  const ops::KvLayer& kv = program_.kv_layers[op.kv_layer];
  const uint32_t n_rotated = kv.head_dim - kv.n_latent;
  const uint32_t q_dim = q.width / op.n_heads;
  const auto append = kernels_.append_kv[static_cast<size_t>(place.format)];
  pool_.run(n_rows_, 4, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t r = begin; r < end; ++r) {
      float* key = row(latent, r);
      kernels_.rms_norm(key, vector(op.norm), kv.n_latent, op.norm_eps, key, false);
      rotate(key + kv.n_latent, op.rope, r);
      uint8_t* keys = arena_.head(page_of(r), place, 0);
      append(key, key, kv.head_dim, kv.n_latent, row_position_[r] % ops::kPageTokens, keys,
             keys + place.head.v_offset());
      for (uint32_t head = 0; head < op.n_heads; ++head) {
        const float* from = row(q, r) + size_t{head + 1} * q_dim - n_rotated;
        float* to = row(out, r) + size_t{head} * kv.head_dim + kv.n_latent;
        std::memcpy(to, from, n_rotated * sizeof(float));
        rotate(to, op.rope, r);
      }
    }
  });
}

void CpuBackend::run(const ops::Attention& op) {
  const KvArena::LayerPlace& place = arena_.layer(op.kv_layer);
  attend_.run({.op = op,
               .kv = program_.kv_layers[op.kv_layer],
               .format = place.format,
               .qkv = tensor(op.qkv),
               .out = tensor(op.out),
               .sinks = vector(op.sinks),
               .keys = arena_.head_of_all(place, 0),
               .head_bytes = place.head.bytes(),
               .page_stride = arena_.page_stride(place),
               .v_offset = place.head.v_offset(),
               .scratch = scratch_.data(),
               .scratch_bytes = scratch_bytes_});
  quantize_rows(tensor(op.out));
}

void CpuBackend::run(const ops::GatedActivation& op) {
  const Activation &in = tensor(op.in), &out = tensor(op.out);
  const bool apart = op.up.index >= 0;
  const Activation& up = apart ? tensor(op.up) : in;
  const uint32_t column = apart ? op.up_column : out.width;
  const auto activate = op.kind == ops::Activation::kSilu       ? kernels_.silu_mul
                        : op.kind == ops::Activation::kGeluTanh ? kernels_.gelu_mul
                                                                : kernels_.clamped_swiglu;
  each_row(n_rows_ * std::max(1u, in.n_slots), [&](uint32_t r) {
    activate(row(in, r), row(up, r) + column, out.width, row(out, r));
    quantize(out, r);
  });
}

void CpuBackend::run(const ops::Scale& op) {
  const Activation& out = tensor(op.out);
  each_row(n_rows_, [&](uint32_t r) {
    float* x = row(out, r);
    for (uint32_t i = 0; i < out.width; ++i) x[i] *= op.factor;
    quantize(out, r);
  });
}

void CpuBackend::run(const ops::SelectRows& op) {
  const Activation &in = tensor(op.in), &out = tensor(op.out);
  n_rows_ = 0;
  for (const auto rows : {batch_->logit_rows, batch_->state_rows}) {
    for (const uint32_t from : rows) {
      std::memcpy(row(out, n_rows_), row(in, from), in.width * sizeof(float));
      quantize(out, n_rows_++);
    }
  }
}

}  // namespace

Result<std::unique_ptr<ops::Backend>> make_backend(const ops::Program& program,
                                                   const ops::BackendOptions& options) {
  T9_TRY(const KernelTable* kernels, select_kernels(options.isa));
  auto backend = std::make_unique<CpuBackend>(program, options, *kernels);
  T9_TRY(backend->load());
  return std::unique_ptr<ops::Backend>(std::move(backend));
}

}  // namespace tempo9::cpu
