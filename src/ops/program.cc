#include "ops/program.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tempo9::ops {

MatrixId Program::add_matrix(Matrix matrix) {
  matrices.push_back(std::move(matrix));
  return {static_cast<int32_t>(matrices.size()) - 1};
}

VectorId Program::add_vector(std::vector<float> values) {
  vectors.push_back(std::move(values));
  return {static_cast<int32_t>(vectors.size()) - 1};
}

TensorId Program::new_tensor(uint32_t width, uint32_t slots) {
  widths.push_back(width);
  n_slots.push_back(slots);
  return {static_cast<int32_t>(widths.size()) - 1};
}

namespace {

template <typename Id>
size_t at(Id id) {
  T9_CHECK(id.index >= 0);
  return static_cast<size_t>(id.index);
}

}  // namespace

std::optional<Product> product_of(const Op& op) {
  if (const auto* linear = std::get_if<Linear>(&op)) return Product{linear->in, linear->matrices};
  if (const auto* experts = std::get_if<ExpertLinear>(&op))
    return Product{experts->in, experts->matrices};
  if (const auto* heads = std::get_if<HeadLinear>(&op)) return Product{heads->in, {heads->matrix}};
  const auto* head = std::get_if<Head>(&op);
  if (head != nullptr && head->matrix.index >= 0) return Product{head->in, {head->matrix}};
  return std::nullopt;
}

bool looks_ahead(const Program& program) {
  return std::ranges::any_of(program.ops, [](const Op& op) {
    const auto* attention = std::get_if<Attention>(&op);
    return attention != nullptr && !attention->causal;
  });
}

std::vector<uint32_t> kv_windows(const Program& program) {
  constexpr uint32_t kUnread = 1;
  std::vector<uint32_t> windows(program.kv_layers.size(), kUnread);
  for (const Op& op : program.ops) {
    const auto* attention = std::get_if<Attention>(&op);
    if (attention == nullptr) continue;
    uint32_t& window = windows[attention->kv_layer];
    const bool reads_all = window == 0 || attention->window == 0 || !attention->causal;
    window = reads_all ? 0 : std::max(window, attention->window);
  }
  return windows;
}

TensorId Program::embed(MatrixId table, float scale, MatrixId positions, VectorId offset) {
  const uint32_t width = matrices[at(table)].n_in;
  T9_CHECK(positions.index < 0 || matrices[at(positions)].n_in == width);
  T9_CHECK(!offset || vectors[at(offset)].size() == width);
  const TensorId out = new_tensor(width);
  ops.push_back(Embed{table, scale, out, positions, offset});
  return out;
}

TensorId Program::rms_norm(TensorId in, VectorId weight, float eps) {
  T9_CHECK(widths[at(in)] % vectors[at(weight)].size() == 0);
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(RmsNorm{in, weight, eps, out, false});
  return out;
}

void Program::add_rms_norm(TensorId residual, TensorId in, VectorId weight, float eps) {
  T9_CHECK(widths[at(residual)] == widths[at(in)]);
  T9_CHECK(widths[at(in)] % vectors[at(weight)].size() == 0);
  ops.push_back(RmsNorm{in, weight, eps, residual, true});
}

TensorId Program::layer_norm(TensorId in, VectorId weight, VectorId bias, float eps) {
  T9_CHECK(vectors[at(weight)].size() == widths[at(in)]);
  T9_CHECK(vectors[at(bias)].size() == widths[at(in)]);
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(LayerNorm{in, weight, bias, eps, out});
  return out;
}

TensorId Program::linear(TensorId in, std::vector<MatrixId> parts, VectorId bias) {
  uint32_t width = 0;
  for (const MatrixId part : parts) {
    T9_CHECK(matrices[at(part)].n_in == widths[at(in)]);
    width += matrices[at(part)].n_out;
  }
  T9_CHECK(!bias || vectors[at(bias)].size() == width);
  const TensorId out = new_tensor(width);
  ops.push_back(Linear{in, std::move(parts), bias, out, false});
  return out;
}

void Program::add_linear(TensorId residual, TensorId in, MatrixId matrix, VectorId bias) {
  T9_CHECK(matrices[at(matrix)].n_in == widths[at(in)]);
  T9_CHECK(matrices[at(matrix)].n_out == widths[at(residual)]);
  T9_CHECK(!bias || vectors[at(bias)].size() == widths[at(residual)]);
  ops.push_back(Linear{in, {matrix}, bias, residual, true});
}

void Program::rope_append(RopeAppend op) {
  const KvLayer& kv = kv_layers[op.kv_layer];
  const uint32_t n_appended = op.append ? 2 * kv.n_kv_heads : 0;
  T9_CHECK(widths[at(op.qkv)] == (op.n_heads + n_appended) * kv.head_dim);
  T9_CHECK(kv.n_latent == 0);
  T9_CHECK(op.rope < ropes.size() && 2 * ropes[op.rope].inv_freq.size() <= kv.head_dim);
  T9_CHECK(!op.q_norm || vectors[at(op.q_norm)].size() == kv.head_dim);
  T9_CHECK(!op.k_norm || vectors[at(op.k_norm)].size() == kv.head_dim);
  T9_CHECK(!op.v_norm || vectors[at(op.v_norm)].size() == kv.head_dim);
  ops.push_back(op);
}

TensorId Program::attention(Attention op) {
  const KvLayer& kv = kv_layers[op.kv_layer];
  T9_CHECK(op.n_heads % kv.n_kv_heads == 0);
  T9_CHECK(!op.sinks || vectors[at(op.sinks)].size() == op.n_heads);
  op.out = new_tensor(op.n_heads * kv.value_dim());
  ops.push_back(op);
  return op.out;
}

TensorId Program::heads(uint32_t n_heads, uint32_t width) { return new_tensor(n_heads * width); }

void Program::head_linear(HeadLinear op) {
  const Matrix& matrix = matrices[at(op.matrix)];
  T9_CHECK(matrix.n_in <= op.in_stride && matrix.n_out <= op.out_stride);
  T9_CHECK(widths[at(op.in)] == op.in_stride * matrix.n_experts);
  T9_CHECK(widths[at(op.out)] == op.out_stride * matrix.n_experts);
  ops.push_back(op);
}

void Program::latent_append(LatentAppend op) {
  const KvLayer& kv = kv_layers[op.kv_layer];
  const size_t n_rotated = 2 * ropes[op.rope].inv_freq.size();
  T9_CHECK(kv.n_kv_heads == 1 && kv.n_latent > 0 && kv.head_dim == kv.n_latent + n_rotated);
  T9_CHECK(widths[at(op.latent)] == kv.head_dim && vectors[at(op.norm)].size() == kv.n_latent);
  T9_CHECK(widths[at(op.q)] % op.n_heads == 0 && widths[at(op.q)] / op.n_heads >= n_rotated);
  T9_CHECK(widths[at(op.out)] == op.n_heads * kv.head_dim);
  ops.push_back(op);
}

TensorId Program::gated_activation(TensorId gate_up, Activation kind) {
  T9_CHECK(widths[at(gate_up)] % 2 == 0);
  const TensorId out = new_tensor(widths[at(gate_up)] / 2, n_slots[at(gate_up)]);
  ops.push_back(GatedActivation{gate_up, kind, out});
  return out;
}

TensorId Program::gated_activation(TensorId gate, TensorId up, uint32_t up_column,
                                   Activation kind) {
  T9_CHECK(n_slots[at(gate)] == 0 && n_slots[at(up)] == 0);
  T9_CHECK(up_column + widths[at(gate)] <= widths[at(up)]);
  const TensorId out = new_tensor(widths[at(gate)]);
  ops.push_back(GatedActivation{gate, kind, out, up, up_column});
  return out;
}

TensorId Program::gelu(TensorId in) {
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(Gelu{in, out});
  return out;
}

TensorId Program::route(Route op) {
  const uint32_t n_experts = widths[at(op.logits)];
  T9_CHECK(op.n_used > 0 && op.n_groups > 0 && n_experts % op.n_groups == 0);
  T9_CHECK(op.n_groups_used > 0 && op.n_groups_used <= op.n_groups && op.n_group_best > 0);
  T9_CHECK(op.n_used <= n_experts / op.n_groups * op.n_groups_used);
  T9_CHECK(!op.bias || vectors[at(op.bias)].size() == n_experts);
  T9_CHECK(!op.scales || vectors[at(op.scales)].size() == n_experts);
  op.out = new_tensor(2 * op.n_used);
  ops.push_back(op);
  return op.out;
}

TensorId Program::expert_linear(TensorId in, TensorId routes, std::vector<MatrixId> parts,
                                VectorId bias) {
  const uint32_t n_used = widths[at(routes)] / 2;
  const uint32_t n_experts = matrices[at(parts.at(0))].n_experts;
  T9_CHECK(n_slots[at(in)] == 0 || n_slots[at(in)] == n_used);
  uint32_t width = 0;
  for (const MatrixId part : parts) {
    T9_CHECK(matrices[at(part)].n_in == widths[at(in)]);
    T9_CHECK(matrices[at(part)].n_experts == n_experts);
    width += matrices[at(part)].n_out;
  }
  T9_CHECK(!bias || vectors[at(bias)].size() == size_t{n_experts} * width);
  const TensorId out = new_tensor(width, n_used);
  ops.push_back(ExpertLinear{in, routes, std::move(parts), bias, out});
  return out;
}

void Program::add_expert_sum(TensorId residual, TensorId in, TensorId routes) {
  T9_CHECK(widths[at(residual)] == widths[at(in)] && n_slots[at(residual)] == 0);
  T9_CHECK(n_slots[at(in)] == widths[at(routes)] / 2);
  ops.push_back(ExpertSum{in, routes, residual});
}

TensorId Program::expert_sum(TensorId in, TensorId routes) {
  T9_CHECK(n_slots[at(in)] == widths[at(routes)] / 2);
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(ExpertSum{in, routes, out, false});
  return out;
}

TensorId Program::relu_squared(TensorId in) {
  const TensorId out = new_tensor(widths[at(in)], n_slots[at(in)]);
  ops.push_back(ReluSquared{in, out});
  return out;
}

TensorId Program::gated_delta(GatedDelta op) {
  const uint32_t n_heads = op.n_value_heads;
  T9_CHECK(op.n_key_heads > 0 && n_heads > 0 && n_heads % op.n_key_heads == 0);
  T9_CHECK(op.key_dim > 0 && op.value_dim > 0);
  T9_CHECK(widths[at(op.qkv)] == 2 * op.n_key_heads * op.key_dim + n_heads * op.value_dim);
  T9_CHECK(widths[at(op.beta_alpha)] == 2 * n_heads);
  T9_CHECK(vectors[at(op.a)].size() == n_heads && vectors[at(op.dt_bias)].size() == n_heads);
  op.state_part = static_cast<uint32_t>(state_parts.size());
  state_parts.push_back(n_heads * op.key_dim * state_columns(op.value_dim));
  op.out = new_tensor(n_heads * op.value_dim);
  ops.push_back(op);
  return op.out;
}

TensorId Program::mamba2_scan(Mamba2Scan op) {
  T9_CHECK(op.n_groups > 0 && op.n_heads > 0 && op.n_heads % op.n_groups == 0);
  T9_CHECK(op.head_dim > 0 && op.state_dim > 0);
  T9_CHECK(widths[at(op.xbc)] == op.n_heads * op.head_dim + 2 * op.n_groups * op.state_dim);
  T9_CHECK(widths[at(op.dt)] == op.n_heads);
  for (const VectorId id : {op.a, op.dt_bias, op.d}) T9_CHECK(vectors[at(id)].size() == op.n_heads);
  op.state_part = static_cast<uint32_t>(state_parts.size());
  state_parts.push_back(op.n_heads * op.state_dim * state_columns(op.head_dim));
  op.out = new_tensor(op.n_heads * op.head_dim);
  ops.push_back(op);
  return op.out;
}

TensorId Program::gated_norm(GatedNorm op) {
  const uint32_t width = widths[at(op.in)];
  T9_CHECK(widths[at(op.gate)] == width && op.group_width > 0 && width % op.group_width == 0);
  const size_t n_weights = vectors[at(op.weight)].size();
  T9_CHECK(n_weights == width || n_weights == op.group_width);
  op.out = new_tensor(width);
  ops.push_back(op);
  return op.out;
}

TensorId Program::causal_conv(CausalConv op) {
  const uint32_t width = widths[at(op.in)] / (op.gated ? 3 : 1);
  T9_CHECK(width * (op.gated ? 3 : 1) == widths[at(op.in)]);
  T9_CHECK(op.n_taps >= 2 && op.n_taps <= kMaxConvTaps);
  T9_CHECK(vectors[at(op.weight)].size() == size_t{width} * op.n_taps);
  T9_CHECK(!op.bias || vectors[at(op.bias)].size() == width);
  op.state_part = static_cast<uint32_t>(state_parts.size());
  state_parts.push_back((op.n_taps - 1) * width);
  op.out = new_tensor(width);
  ops.push_back(op);
  return op.out;
}

TensorId Program::sigmoid_gate(TensorId in, TensorId gate) {
  T9_CHECK(widths[at(gate)] == widths[at(in)] || widths[at(gate)] == 1);
  T9_CHECK(n_slots[at(in)] == 0 && n_slots[at(gate)] == 0);
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(SigmoidGate{in, gate, out});
  return out;
}

void Program::scale(TensorId tensor, float factor) {
  T9_CHECK(tensor.index >= 0 && n_slots[at(tensor)] == 0);
  ops.push_back(Scale{tensor, factor});
}

TensorId Program::select_rows(TensorId in) {
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(SelectRows{in, out});
  return out;
}

void Program::head(TensorId in, MatrixId matrix, float softcap) {
  T9_CHECK(matrices[at(matrix)].n_in == widths[at(in)]);
  n_vocab = matrices[at(matrix)].n_out;
  ops.push_back(Head{in, matrix, softcap});
}

void Program::end_without_head(TensorId states) {
  ops.push_back(Head{.in = states, .matrix = {}, .softcap = 0});
}

uint32_t Program::state_width() const {
  T9_CHECK(!ops.empty() && std::holds_alternative<Head>(ops.back()));
  return widths[at(std::get<Head>(ops.back()).in)];
}

}  // namespace tempo9::ops
