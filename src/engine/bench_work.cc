#include "engine/bench_work.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace tempo9::engine {
namespace {

size_t at(ops::MatrixId id) { return static_cast<size_t>(id.index); }

std::vector<ops::MatrixId> matrices_of(const ops::Op& op) {
  auto product = ops::product_of(op);
  return product ? std::move(product->matrices) : std::vector<ops::MatrixId>();
}

// Matrices of a tensor of many that a row meets; 1 for others.
uint32_t n_used(const ops::Program& program, const ops::Op& op) {
  if (const auto* heads = std::get_if<ops::HeadLinear>(&op))
    return program.matrices[at(heads->matrix)].n_experts;
  const auto* experts = std::get_if<ops::ExpertLinear>(&op);
  return experts == nullptr ? 1 : program.n_slots[static_cast<size_t>(experts->out.index)];
}

// Of one key and value of one head, with their scales.
uint64_t kv_bytes(ops::KvType type, const ops::KvLayer& layer) {
  const uint64_t n = uint64_t{layer.head_dim} + layer.value_dim();
  const auto runs = [&](uint32_t size) { return (layer.head_dim + size - 1) / size; };
  switch (type) {
    case ops::KvType::kI16:
      return 2 * n + sizeof(float) * ((layer.n_latent > 0 ? runs(64) : 1) + 1);
    case ops::KvType::kQ8:
      return n + sizeof(float) * (runs(32) + 1);
    case ops::KvType::kF16:
      return 2 * n;
    case ops::KvType::kF32:
      break;
  }
  return 4 * n;
}

}  // namespace

uint64_t weight_multiply_adds(const ops::Program& program, uint32_t n_rows, uint32_t n_logit_rows) {
  uint64_t total = 0;
  for (const ops::Op& op : program.ops) {
    if (std::holds_alternative<ops::SelectRows>(op)) n_rows = n_logit_rows;
    for (const ops::MatrixId id : matrices_of(op)) {
      const ops::Matrix& matrix = program.matrices[at(id)];
      total += uint64_t{n_rows} * n_used(program, op) * matrix.n_in * matrix.n_out;
    }
  }
  return total;
}

uint64_t kv_read_bytes(const ops::Program& program, ops::KvType type, uint32_t n_keys) {
  uint64_t total = 0;
  for (const ops::Op& op : program.ops) {
    const auto* attention = std::get_if<ops::Attention>(&op);
    if (attention == nullptr) continue;
    const ops::KvLayer& layer = program.kv_layers[attention->kv_layer];
    const uint64_t n_seen = attention->window > 0 ? std::min(n_keys, attention->window) : n_keys;
    total += n_seen * layer.n_kv_heads * kv_bytes(type, layer);
  }
  return total;
}

uint64_t unread_bytes(const ops::Program& program) {
  std::vector<bool> multiplied(program.matrices.size());
  uint64_t total = 0;
  for (const ops::Op& op : program.ops) {
    for (const ops::MatrixId id : matrices_of(op)) {
      multiplied[at(id)] = true;
      const ops::Matrix& matrix = program.matrices[at(id)];
      if (matrix.n_experts > 1)
        total += matrix.data.size() / matrix.n_experts * (matrix.n_experts - n_used(program, op));
    }
  }
  for (size_t i = 0; i < multiplied.size(); ++i) {
    if (!multiplied[i]) total += program.matrices[i].data.size();
  }
  return total;
}

}  // namespace tempo9::engine
