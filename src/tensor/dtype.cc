#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace tempo9 {
namespace {

struct Entry {
  uint32_t id;
  DTypeInfo info;
};

constexpr std::array kEntries = {
#define T9_DTYPE(id, enumerator, name, block_elements, block_bytes) \
  Entry{id, DTypeInfo{name, block_elements, block_bytes}},
#include "tensor/dtype.inc"
#undef T9_DTYPE
};

// dtype_info indexes by id, so the list must be dense and in order.
constexpr bool is_dense() {
  for (uint32_t i = 0; i < kEntries.size(); ++i) {
    if (kEntries[i].id != i) return false;
  }
  return true;
}
static_assert(is_dense());

}  // namespace

std::optional<DTypeInfo> find_dtype(uint32_t id) {
  if (id >= kEntries.size()) return std::nullopt;
  return kEntries[id].info;
}

const DTypeInfo& dtype_info(DType type) {
  T9_CHECK(static_cast<size_t>(type) < kEntries.size());
  return kEntries[static_cast<size_t>(type)].info;
}

}  // namespace tempo9
