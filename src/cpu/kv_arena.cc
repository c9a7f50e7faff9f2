#include "cpu/kv_arena.h"

#include <algorithm>

#include "cpu/cpu.h"

namespace tempo9::cpu {

KvFormat kv_format(ops::KvType type, const ops::KvLayer& layer) {
  if (type == ops::KvType::kI16 && layer.n_latent > 0) return KvFormat::kLatentI16;
  return static_cast<KvFormat>(type);
}

KvLayout kv_layout(ops::KvType type, const ops::KvLayer& layer) {
  return kv_layout(kv_format(type, layer), layer.head_dim, layer.value_dim());
}

Status KvArena::reserve(const ops::Program& program, ops::KvType type, uint32_t n_pages) {
  classes_ = kv_page_classes(program, type);
  bases_.assign(1, 0);
  for (const ops::PageClass& c : classes_) bases_.push_back(bases_.back() + c.bytes * n_pages);
  gives_back_.assign(classes_.size(), false);
  page_bytes_ = kv_page_bytes(program, type);
  const std::vector<uint32_t> windows = ops::kv_windows(program);
  std::vector<size_t> offsets(classes_.size(), 0);
  for (size_t i = 0; i < windows.size(); ++i) {
    const ops::KvLayer& layer = program.kv_layers[i];
    const auto page_class = static_cast<size_t>(
        std::ranges::find(classes_, windows[i], &ops::PageClass::window) - classes_.begin());
    const KvLayout head = kv_layout(type, layer);
    layers_.push_back(
        {page_class, offsets[page_class], kv_format(type, layer), head, layer.n_kv_heads});
    offsets[page_class] += head.bytes() * layer.n_kv_heads;
  }
  T9_TRY(memory_, Memory::reserve(bases_.back()));
  return {};
}

void KvArena::copy(ops::PageId from, ops::PageId to, uint32_t n_tokens) {
  for (const LayerPlace& layer : layers_) {
    for (uint32_t i = 0; i < layer.n_heads; ++i) {
      copy_kv_keys(layer.head, head(from, layer, i), head(to, layer, i), n_tokens);
    }
  }
}

// A part is smaller than a large page: the system's daemon would take the hole for memory that only
// waits to be used, and fill it. Where nothing is ever given back, large pages are welcome.
void KvArena::drop_part(ops::PageId page, size_t page_class) {
  const size_t n_bytes = classes_[page_class].bytes, base = bases_[page_class];
  if (!gives_back_[page_class]) {
    gives_back_[page_class] = true;
    memory_.forbid_huge_pages(base, bases_[page_class + 1] - base);
  }
  memory_.release(base + page * n_bytes, n_bytes);
}

void KvArena::read(ops::PageId page, std::span<uint8_t> out) const {
  for (size_t c = 0; c < classes_.size(); ++c) {
    std::memcpy(out.data(), part(page, c), classes_[c].bytes);
    out = out.subspan(classes_[c].bytes);
  }
}

void KvArena::write(ops::PageId page, std::span<const uint8_t> bytes) {
  for (size_t c = 0; c < classes_.size(); ++c) {
    std::memcpy(part(page, c), bytes.data(), classes_[c].bytes);
    bytes = bytes.subspan(classes_[c].bytes);
  }
}

}  // namespace tempo9::cpu
