#include "cpu/weights.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "cpu/cpu.h"
#include "quant/quant.h"

namespace tempo9::cpu {
namespace {

std::vector<bool> used_as_product(const ops::Program& program) {
  std::vector<bool> used(program.matrices.size());
  for (const ops::Op& op : program.ops) {
    const auto product = ops::product_of(op);
    if (!product) continue;
    for (const ops::MatrixId id : product->matrices) used[static_cast<size_t>(id.index)] = true;
  }
  return used;
}

Result<Weight> load_weight(const ops::Matrix& matrix, bool pack, ThreadPool& pool) {
  const DTypeInfo& info = dtype_info(matrix.type);
  if (quant::find_format(matrix.type) == nullptr) {
    return make_error(ErrorCode::kUnsupported, "tensor {}: {} is no type for a weight", matrix.name,
                      info.name);
  }
  if (matrix.n_in % info.block_elements != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "tensor {}: rows of {} elements, but {} comes in blocks of {}", matrix.name,
                      matrix.n_in, info.name, info.block_elements);
  }
  const size_t row_bytes = size_t{matrix.n_in} / info.block_elements * info.block_bytes;
  const size_t matrix_bytes = row_bytes * matrix.n_out;
  T9_CHECK(matrix.data.size() == matrix_bytes * matrix.n_experts);

  Weight w;
  w.type = matrix.type;
  w.n_in = matrix.n_in;
  w.n_out = matrix.n_out;
  w.n_experts = matrix.n_experts;
  w.scale = matrix.scale;
  w.n_groups = (matrix.n_out + kLanes - 1) / kLanes;
  if (pack) w.packing = packing_of(matrix.type);
  if (!w.packing) {
    w.group_bytes = row_bytes;
    T9_TRY(w.memory, Memory::reserve(matrix.data.size()));
    std::memcpy(w.memory.data(), matrix.data.data(), matrix.data.size());
    return w;
  }
  w.group_bytes = packed_group_bytes(*w.packing, w.n_in);
  const uint32_t n_groups = w.n_groups * w.n_experts;
  T9_TRY(w.memory, Memory::reserve(w.group_bytes * n_groups));
  w.memory.prefer_huge_pages();
  pool.run(n_groups, 8, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end; ++i) {
      const uint8_t* expert = matrix.data.data() + matrix_bytes * (i / w.n_groups);
      pack_group(*w.packing, expert, row_bytes, w.n_in, w.n_out, i % w.n_groups,
                 w.memory.data() + w.group_bytes * i);
    }
  });
  return w;
}

}  // namespace

uint64_t packed_weight_bytes(const ops::Program& program) {
  const std::vector<bool> pack = used_as_product(program);
  uint64_t total = 0;
  for (size_t i = 0; i < program.matrices.size(); ++i) {
    const ops::Matrix& matrix = program.matrices[i];
    const auto packing = pack[i] ? packing_of(matrix.type) : std::nullopt;
    const uint64_t n_groups = uint64_t{(matrix.n_out + kLanes - 1) / kLanes} * matrix.n_experts;
    total += packing ? n_groups * packed_group_bytes(*packing, matrix.n_in) : matrix.data.size();
  }
  return total;
}

Result<std::vector<Weight>> load_weights(
    const ops::Program& program, ThreadPool& pool,
    const std::function<void(std::span<const uint8_t>)>& on_read) {
  const std::vector<bool> pack = used_as_product(program);
  std::vector<Weight> weights;
  for (size_t i = 0; i < program.matrices.size(); ++i) {
    T9_TRY(Weight weight, load_weight(program.matrices[i], pack[i], pool));
    weights.push_back(std::move(weight));
    if (on_read) on_read(program.matrices[i].data);
  }
  return weights;
}

uint64_t bytes_of(const std::vector<Weight>& weights) {
  uint64_t total = 0;
  for (const Weight& w : weights) total += w.memory.size();
  return total;
}

void read_row(const Weight& weight, uint32_t row, float* out) {
  if (weight.packing) {
    const uint8_t* group = weight.memory.data() + weight.group_bytes * (row / kLanes);
    unpack_column(*weight.packing, group, weight.n_in, row % kLanes, out);
  } else {
    quant::find_format(weight.type)
        ->decode(weight.memory.data() + weight.group_bytes * row, out,
                 weight.n_in / dtype_info(weight.type).block_elements);
  }
  for (uint32_t k = 0; weight.scale != 1.0f && k < weight.n_in; ++k) out[k] *= weight.scale;
}

}  // namespace tempo9::cpu
