// The memory of all KV pages, and where a layer's heads lie in a page's part. Reserved address
// space: memory is touched when a page is written, and given back by drop_part(); reads as zeros
// then.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "cpu/kv_layout.h"
#include "cpu/memory.h"
#include "ops/backend.h"

namespace tempo9::cpu {

// How a layer of the program keeps its keys and values.
KvFormat kv_format(ops::KvType type, const ops::KvLayer& layer);
KvLayout kv_layout(ops::KvType type, const ops::KvLayer& layer);

class KvArena {
 public:
  // A KV layer's place in its class's part of a page: its heads follow each other.
  struct LayerPlace {
    size_t page_class = 0;
    size_t offset = 0;  // from the part's start
    KvFormat format = KvFormat::kI16;
    KvLayout head;
    uint32_t n_heads = 0;
  };

  // Errors: kResourceExhausted.
  Status reserve(const ops::Program& program, ops::KvType type, uint32_t n_pages);

  std::span<const ops::PageClass> classes() const { return classes_; }
  size_t page_bytes() const { return page_bytes_; }
  const LayerPlace& layer(size_t index) const { return layers_[index]; }
  // One kv head of a layer of page 0; other pages' are page_stride() apart.
  const uint8_t* head_of_all(const LayerPlace& layer, uint32_t kv_head) const {
    return head(0, layer, kv_head);
  }
  size_t page_stride(const LayerPlace& layer) const { return classes_[layer.page_class].bytes; }
  uint8_t* head(ops::PageId page, const LayerPlace& layer, uint32_t kv_head) const {
    return part(page, layer.page_class) + layer.offset + layer.head.bytes() * kv_head;
  }

  void copy(ops::PageId from, ops::PageId to, uint32_t n_tokens);
  void copy_part(ops::PageId from, ops::PageId to, size_t page_class) {
    std::memcpy(part(to, page_class), part(from, page_class), classes_[page_class].bytes);
  }
  void drop_part(ops::PageId page, size_t page_class);
  void read(ops::PageId page, std::span<uint8_t> out) const;
  void write(ops::PageId page, std::span<const uint8_t> bytes);

 private:
  uint8_t* part(ops::PageId page, size_t page_class) const {
    return memory_.data() + bases_[page_class] + page * classes_[page_class].bytes;
  }

  Memory memory_;
  size_t page_bytes_ = 0;
  std::vector<ops::PageClass> classes_;
  std::vector<size_t> bases_;     // where each class's parts begin, and the end of all
  std::vector<bool> gives_back_;  // the class's parts have gone before
  std::vector<LayerPlace> layers_;
};

}  // namespace tempo9::cpu
