#include "engine/bench_work.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace tempo9::engine {
namespace {

size_t at(ops::MatrixId id) { return static_cast<size_t>(id.index); }

// The matrices that an op multiplies by.
std::vector<ops::MatrixId> products_of(const ops::Op& op) {
  if (const auto* linear = std::get_if<ops::Linear>(&op)) return linear->matrices;
  if (const auto* head = std::get_if<ops::Head>(&op)) return {head->matrix};
  return {};
}

}  // namespace

uint64_t weight_multiply_adds(const ops::Program& program, uint32_t n_rows, uint32_t n_logit_rows) {
  uint64_t total = 0;
  for (const ops::Op& op : program.ops) {
    if (std::holds_alternative<ops::SelectRows>(op)) n_rows = n_logit_rows;
    for (const ops::MatrixId id : products_of(op)) {
      const ops::Matrix& matrix = program.matrices[at(id)];
      total += uint64_t{n_rows} * matrix.n_in * matrix.n_out;
    }
  }
  return total;
}

uint64_t kv_read_bytes(const ops::Program& program, ops::KvType type, uint32_t n_keys) {
  const uint64_t element = type == ops::KvType::kF32 ? 4 : 2;
  const uint64_t scale = type == ops::KvType::kI16 ? 4 : 0;  // one a key and one a value
  uint64_t total = 0;
  for (const ops::Op& op : program.ops) {
    const auto* attention = std::get_if<ops::Attention>(&op);
    if (attention == nullptr) continue;
    const ops::KvLayer& layer = program.kv_layers[attention->kv_layer];
    const uint64_t n_seen = attention->window > 0 ? std::min(n_keys, attention->window) : n_keys;
    total += n_seen * 2 * layer.n_kv_heads * (layer.head_dim * element + scale);
  }
  return total;
}

uint64_t lookup_bytes(const ops::Program& program) {
  std::vector<bool> multiplied(program.matrices.size());
  for (const ops::Op& op : program.ops) {
    for (const ops::MatrixId id : products_of(op)) multiplied[at(id)] = true;
  }
  uint64_t total = 0;
  for (size_t i = 0; i < multiplied.size(); ++i) {
    if (!multiplied[i]) total += program.matrices[i].data.size();
  }
  return total;
}

}  // namespace tempo9::engine
