#include "cpu/kv_layout.h"

#include <cstring>
#include <map>

#include "cpu/cpu.h"
#include "cpu/kv_arena.h"

namespace tempo9::cpu {

std::vector<ops::PageClass> kv_page_classes(const ops::Program& program, ops::KvType type) {
  const std::vector<uint32_t> windows = ops::kv_windows(program);
  std::map<uint32_t, uint64_t> bytes;  // by window
  for (size_t i = 0; i < windows.size(); ++i) {
    const ops::KvLayer& layer = program.kv_layers[i];
    bytes[windows[i]] += kv_layout(type, layer).bytes() * layer.n_kv_heads;
  }
  constexpr uint64_t kSystemPage = 4096;  // so that a part's memory can be given back alone
  std::vector<ops::PageClass> classes;
  for (const auto& [window, n] : bytes) {
    classes.push_back({window, (n + kSystemPage - 1) / kSystemPage * kSystemPage});
  }
  return classes;
}

uint64_t kv_page_bytes(const ops::Program& program, ops::KvType type) {
  uint64_t total = 0;
  for (const ops::PageClass& c : kv_page_classes(program, type)) total += c.bytes;
  return total;
}

void copy_kv_keys(const KvLayout& layout, const uint8_t* from, uint8_t* to, uint32_t n_keys) {
  const size_t row_bytes = layout.key_bytes * kPageKeys;
  for (size_t row = 0; row < layout.k_rows; ++row)
    std::memcpy(to + row * row_bytes, from + row * row_bytes, n_keys * layout.key_bytes);
  const size_t n_v_rows = (n_keys + layout.v_row_keys - 1) / layout.v_row_keys;
  std::memcpy(to + layout.v_offset(), from + layout.v_offset(), n_v_rows * layout.v_row_bytes);
}

}  // namespace tempo9::cpu
