// Every tensor type that a GGUF file may name, by ggml's number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tempo9 {

// Values are ggml's type ids, as stored in files.
enum class DType : uint32_t {
#define T9_DTYPE(id, enumerator, name, block_elements, block_bytes) enumerator = id,
#include "tensor/dtype.inc"
#undef T9_DTYPE
};

struct DTypeInfo {
  std::string_view name;    // as people write it: "Q4_K"
  uint32_t block_elements;  // elements that share one block; 1 for plain types
  uint32_t block_bytes;     // bytes of one block; 0 for types that were removed upstream
};

// Nothing for an id that no ggml version defines.
std::optional<DTypeInfo> find_dtype(uint32_t id);

// For the DTypes above.
const DTypeInfo& dtype_info(DType type);

}  // namespace tempo9
