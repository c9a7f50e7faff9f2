#include "cpu/kv_arena.h"

#include "cpu/cpu.h"

namespace tempo9::cpu {

Status KvArena::reserve(const ops::Program& program, ops::KvType type, uint32_t n_pages) {
  size_t offset = 0;
  for (const ops::KvLayer& layer : program.kv_layers) {
    const KvLayout head = kv_layout(static_cast<KvFormat>(type), layer.head_dim);
    layers_.push_back({offset, head, layer.n_kv_heads});
    offset += head.bytes() * layer.n_kv_heads;
  }
  page_bytes_ = kv_page_bytes(program, type);
  T9_TRY(memory_, Memory::reserve(page_bytes_ * n_pages));
  return {};
}

void KvArena::copy(ops::PageId from, ops::PageId to, uint32_t n_tokens) {
  for (const LayerPlace& layer : layers_) {
    for (uint32_t i = 0; i < layer.n_heads; ++i) {
      copy_kv_keys(layer.head, head(from, layer, i), head(to, layer, i), n_tokens);
    }
  }
}

}  // namespace tempo9::cpu
