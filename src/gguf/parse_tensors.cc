// The tensor directory: names, shapes, types, and where in the file the data lies.
#include <algorithm>

#include "gguf/parse.h"
#include "gguf/text.h"

namespace tempo9::gguf {
namespace {

constexpr uint64_t kMaxDim = INT64_MAX;  // dimensions are signed for other readers

// a * b, or false if it does not fit in 63 bits.
bool multiply(uint64_t a, uint64_t b, uint64_t& product) {
  return !__builtin_mul_overflow(a, b, &product) && product <= kMaxDim;
}

// Up to the next multiple; false if that does not fit.
bool align_up(uint64_t value, uint64_t alignment, uint64_t& aligned) {
  if (__builtin_add_overflow(value, alignment - 1, &aligned)) return false;
  aligned &= ~(alignment - 1);
  return true;
}

std::string shape_text(const Tensor& tensor) {
  std::string text = fmt::format("[{}", tensor.ne[0]);
  for (uint32_t d = 1; d < tensor.n_dims; ++d) text += fmt::format(", {}", tensor.ne[d]);
  return text + "]";
}

template <typename Where>
Result<DTypeInfo> usable_type(const Where& where, uint32_t id) {
  const std::optional<DTypeInfo> info = find_dtype(id);
  if (!info) {
    return make_error(ErrorCode::kUnsupported,
                      "{} has type {}, which this build does not know: use a newer Tempo9", where(),
                      id);
  }
  if (info->block_bytes == 0) {
    return make_error(
        ErrorCode::kUnsupported,
        "{} has type {}, which was removed from GGUF: use a file in another format, such as {}",
        where(), info->name, info->name.substr(0, 2) == "IQ" ? "IQ4_NL" : "Q4_0");
  }
  if (static_cast<DType>(id) == DType::kQ8_K) {
    return make_error(ErrorCode::kUnsupported,
                      "{} has type Q8_K, which is for intermediate results only: use a file in "
                      "another format, such as "
                      "Q8_0",
                      where());
  }
  return *info;
}

}  // namespace

Result<ParsedTensor> parse_tensor(Cursor& cursor, uint64_t alignment) {
  ParsedTensor parsed;
  Tensor& tensor = parsed.tensor;
  T9_TRY(tensor.name, parse_name(cursor, "a tensor name"));
  const auto where = [&] {
    return fmt::format("{}: tensor \"{}\"", cursor.source().path(), printable(tensor.name));
  };

  T9_TRY(tensor.n_dims, cursor.read<uint32_t>("a tensor's dimension count"));
  if (tensor.n_dims < 1 || tensor.n_dims > tensor.ne.size()) {
    return make_error(ErrorCode::kCorrupt, "{} has {} dimensions, expected 1 to {}", where(),
                      tensor.n_dims, tensor.ne.size());
  }
  uint64_t n_elements = 1;
  bool fits = true;
  for (uint32_t d = 0; d < tensor.n_dims; ++d) {
    T9_TRY(tensor.ne[d], cursor.read<uint64_t>("a tensor's dimension"));
    if (tensor.ne[d] == 0 || tensor.ne[d] > kMaxDim) {
      return make_error(ErrorCode::kCorrupt, "{}: dimension {} is {}, expected 1 to 2^63 - 1",
                        where(), d, static_cast<int64_t>(tensor.ne[d]));
    }
    fits = fits && multiply(n_elements, tensor.ne[d], n_elements);
  }
  T9_TRY(const uint32_t type_id, cursor.read<uint32_t>("a tensor's type"));
  T9_TRY(const DTypeInfo type, usable_type(where, type_id));
  tensor.type = static_cast<DType>(type_id);
  if (fits && tensor.ne[0] % type.block_elements != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: rows have {} elements, expected a multiple of {}, the block of {}",
                      where(), tensor.ne[0], type.block_elements, type.name);
  }
  if (!fits || !multiply(n_elements / type.block_elements, type.block_bytes, parsed.bytes)) {
    return make_error(ErrorCode::kCorrupt, "{}: the product of its dimensions {} overflows 63 bits",
                      where(), shape_text(tensor));
  }
  T9_TRY(parsed.begin, cursor.read<uint64_t>("a tensor's offset"));
  if (parsed.begin % alignment != 0) {
    return make_error(ErrorCode::kCorrupt,
                      "{} has offset {}, expected a multiple of the alignment {}", where(),
                      parsed.begin, alignment);
  }
  return parsed;
}

Status place_tensors(const Source& source, uint64_t directory_end, uint64_t alignment,
                     std::vector<ParsedTensor>& tensors) {
  uint64_t data_begin = 0;
  if (!align_up(directory_end, alignment, data_begin)) {
    return make_error(ErrorCode::kInternal, "{}: size overflow", source.path());
  }
  std::vector<const ParsedTensor*> by_position;
  by_position.reserve(tensors.size());
  for (ParsedTensor& tensor : tensors) {
    uint64_t end = 0;
    const bool overflow = __builtin_add_overflow(tensor.begin, data_begin, &tensor.begin) ||
                          __builtin_add_overflow(tensor.begin, tensor.bytes, &end);
    if (overflow || end > source.size()) {
      return make_error(ErrorCode::kCorrupt,
                        "{}: tensor \"{}\" needs {} bytes from byte {} on, but the file has {} "
                        "bytes: it is cut short "
                        "or damaged, get it again",
                        source.path(), printable(tensor.tensor.name), tensor.bytes, tensor.begin,
                        source.size());
    }
    by_position.push_back(&tensor);
  }
  std::sort(by_position.begin(), by_position.end(),
            [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < by_position.size(); ++i) {
    const ParsedTensor& left = *by_position[i - 1];
    const ParsedTensor& right = *by_position[i];
    if (right.begin < left.begin + left.bytes) {
      return make_error(ErrorCode::kCorrupt,
                        "{}: tensors \"{}\" (bytes {} to {}) and \"{}\" (from byte {}) overlap",
                        source.path(), printable(left.tensor.name), left.begin,
                        left.begin + left.bytes, printable(right.tensor.name), right.begin);
    }
  }
  // Some writers pad after the last tensor and some do not.
  const uint64_t used =
      by_position.empty() ? directory_end : by_position.back()->begin + by_position.back()->bytes;
  uint64_t padded = used;
  if (align_up(used, alignment, padded) && source.size() > padded) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: has {} bytes, expected {}: {} bytes too many after {}. The file has "
                      "grown or its directory "
                      "is damaged, get it again",
                      source.path(), source.size(), padded, source.size() - padded,
                      by_position.empty() ? "the metadata, and no tensors" : "the last tensor");
  }
  return {};
}

}  // namespace tempo9::gguf
