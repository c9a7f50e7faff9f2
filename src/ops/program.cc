#include "ops/program.h"

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

TensorId Program::new_tensor(uint32_t width) {
  widths.push_back(width);
  return {static_cast<int32_t>(widths.size()) - 1};
}

namespace {

template <typename Id>
size_t at(Id id) {
  T9_CHECK(id.index >= 0);
  return static_cast<size_t>(id.index);
}

}  // namespace

TensorId Program::embed(MatrixId table, float scale) {
  const TensorId out = new_tensor(matrices[at(table)].n_in);
  ops.push_back(Embed{table, scale, out});
  return out;
}

TensorId Program::rms_norm(TensorId in, VectorId weight, float eps) {
  T9_CHECK(vectors[at(weight)].size() == widths[at(in)]);
  const TensorId out = new_tensor(widths[at(in)]);
  ops.push_back(RmsNorm{in, weight, eps, out, false});
  return out;
}

void Program::add_rms_norm(TensorId residual, TensorId in, VectorId weight, float eps) {
  T9_CHECK(widths[at(residual)] == widths[at(in)] && vectors[at(weight)].size() == widths[at(in)]);
  ops.push_back(RmsNorm{in, weight, eps, residual, true});
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
  T9_CHECK(widths[at(op.qkv)] == (op.n_heads + 2 * kv.n_kv_heads) * kv.head_dim);
  T9_CHECK(op.rope < ropes.size() && 2 * ropes[op.rope].inv_freq.size() <= kv.head_dim);
  T9_CHECK(!op.q_norm || vectors[at(op.q_norm)].size() == kv.head_dim);
  T9_CHECK(!op.k_norm || vectors[at(op.k_norm)].size() == kv.head_dim);
  ops.push_back(op);
}

TensorId Program::attention(TensorId qkv, uint32_t kv_layer, uint32_t n_heads, float scale,
                            uint32_t window) {
  const KvLayer& kv = kv_layers[kv_layer];
  T9_CHECK(n_heads % kv.n_kv_heads == 0);
  const TensorId out = new_tensor(n_heads * kv.head_dim);
  ops.push_back(Attention{qkv, kv_layer, n_heads, scale, window, out});
  return out;
}

TensorId Program::gated_activation(TensorId gate_up, Activation kind) {
  T9_CHECK(widths[at(gate_up)] % 2 == 0);
  const TensorId out = new_tensor(widths[at(gate_up)] / 2);
  ops.push_back(GatedActivation{gate_up, kind, out});
  return out;
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

}  // namespace tempo9::ops
