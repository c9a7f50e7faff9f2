#include "cpu/weights.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "cpu/cpu.h"
#include "cpu/packed_file.h"
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

// Where the matrix will stand, still empty.
Result<Weight> reserve_weight(const ops::Matrix& matrix, bool is_multiplied) {
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
  T9_CHECK(matrix.data.size() == row_bytes * matrix.n_out * matrix.n_experts);

  Weight w;
  w.type = matrix.type;
  w.n_in = matrix.n_in;
  w.n_out = matrix.n_out;
  w.n_experts = matrix.n_experts;
  w.scale = matrix.scale;
  w.n_groups = (matrix.n_out + kLanes - 1) / kLanes;
  if (is_multiplied) w.packing = packing_of(matrix.type);
  if (!w.packing) {
    w.group_bytes = row_bytes;
    T9_TRY(w.memory, Memory::reserve(matrix.data.size()));
    return w;
  }
  w.group_bytes = packed_group_bytes(*w.packing, w.n_in);
  T9_TRY(w.memory, Memory::reserve(w.group_bytes * w.n_groups * w.n_experts));
  w.memory.prefer_huge_pages();
  return w;
}

void pack(const ops::Matrix& matrix, Weight& w, ThreadPool& pool) {
  if (!w.packing) {
    std::memcpy(w.memory.data(), matrix.data.data(), matrix.data.size());
    return;
  }
  const size_t matrix_bytes = matrix.data.size() / w.n_experts;
  pool.run(w.n_groups * w.n_experts, 8, [&](uint32_t begin, uint32_t end, uint32_t) {
    for (uint32_t i = begin; i < end; ++i) {
      const uint8_t* expert = matrix.data.data() + matrix_bytes * (i / w.n_groups);
      pack_group(*w.packing, expert, matrix_bytes / w.n_out, w.n_in, w.n_out, i % w.n_groups,
                 w.memory.data() + w.group_bytes * i);
    }
  });
}

// False: they are to be packed.
Result<bool> read_packed(const PackedParts& parts, const ops::BackendOptions& options,
                         ThreadPool& pool) {
  if (options.packed_file.empty()) return false;
  const auto state = read_packed_file(options.packed_file, options.packed_key, parts, pool);
  if (!state && state.error().code == ErrorCode::kInvalidArgument) return state.error();
  if (state && *state == PackedFileState::kDamaged && options.log)
    options.log(
        fmt::format("packed weights in {} are damaged, and packed anew", options.packed_file));
  return state && *state == PackedFileState::kRead;
}

void write_packed(const PackedParts& parts, const ops::BackendOptions& options, ThreadPool& pool) {
  if (options.packed_file.empty()) return;
  const Status written = write_packed_file(options.packed_file, options.packed_key, parts, pool);
  if (options.log) {
    options.log(written ? fmt::format("packed weights written to {}", options.packed_file)
                        : fmt::format("packed weights are not kept: {}", written.error().message));
  }
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

Result<std::vector<Weight>> load_weights(const ops::Program& program, ThreadPool& pool,
                                         const ops::BackendOptions& options) {
  const std::vector<bool> is_multiplied = used_as_product(program);
  std::vector<Weight> weights;
  PackedParts parts;
  for (size_t i = 0; i < program.matrices.size(); ++i) {
    T9_TRY(Weight weight, reserve_weight(program.matrices[i], is_multiplied[i]));
    parts.emplace_back(weight.memory.data(), weight.memory.size());
    weights.push_back(std::move(weight));
  }
  T9_TRY(const bool are_read, read_packed(parts, options, pool));
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!are_read) pack(program.matrices[i], weights[i], pool);
    if (options.on_read) options.on_read(program.matrices[i].data);
  }
  if (!are_read) write_packed(parts, options, pool);
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
