// The memory of all KV pages, and where a layer's heads lie in a page. Reserved address space:
// memory is touched when a page is written, and given back by drop().
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "cpu/kv_layout.h"
#include "cpu/memory.h"
#include "ops/backend.h"

namespace tempo9::cpu {

class KvArena {
 public:
  // A KV layer's place in a page: its heads follow each other.
  struct LayerPlace {
    size_t offset = 0;  // from the page's start
    KvLayout head;
    uint32_t n_heads = 0;
  };

  // Errors: kResourceExhausted.
  Status reserve(const ops::Program& program, ops::KvType type, uint32_t n_pages);

  size_t page_bytes() const { return page_bytes_; }
  const LayerPlace& layer(size_t index) const { return layers_[index]; }
  // One kv head of a layer of page 0; other pages' are page_bytes() apart.
  const uint8_t* head_of_all(const LayerPlace& layer, uint32_t kv_head) const {
    return memory_.data() + layer.offset + layer.head.bytes() * kv_head;
  }
  uint8_t* head(ops::PageId page, const LayerPlace& layer, uint32_t kv_head) const {
    return at(page) + layer.offset + layer.head.bytes() * kv_head;
  }

  void copy(ops::PageId from, ops::PageId to, uint32_t n_tokens);
  void drop(ops::PageId page) { memory_.release(page * page_bytes_, page_bytes_); }
  void read(ops::PageId page, std::span<uint8_t> out) const {
    std::memcpy(out.data(), at(page), page_bytes_);
  }
  void write(ops::PageId page, std::span<const uint8_t> bytes) {
    std::memcpy(at(page), bytes.data(), page_bytes_);
  }

 private:
  uint8_t* at(ops::PageId page) const { return memory_.data() + page * page_bytes_; }

  Memory memory_;
  size_t page_bytes_ = 0;
  std::vector<LayerPlace> layers_;
};

}  // namespace tempo9::cpu
