// Who holds which page, and in what order free pages are handed out again. Page numbers only: no
// bytes, no tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace tempo9::kv {

using PageId = uint32_t;
inline constexpr PageId kNoPage = ~0u;

// Invariants: a page is either held (n_holders > 0) or in the free list, which is doubly linked
// through the pages themselves, next to be handed out first. A free page may still hold known
// content: freeing it does not forget it, handing it out does. So the free list is the cache, in
// order of eviction.
class PagePool {
 public:
  explicit PagePool(uint32_t n_pages);

  uint32_t n_pages() const { return static_cast<uint32_t>(pages_.size()); }
  uint32_t n_free() const { return n_free_; }
  bool is_free(PageId page) const { return pages_[page].n_holders == 0; }
  uint32_t n_holders(PageId page) const { return pages_[page].n_holders; }

  // The free page at the front, held once. kNoPage when none is free.
  PageId take();
  // One holder more. A free page leaves the free list.
  void hold(PageId page);
  // One holder less. The last one puts it in the free list: at the back when its content is worth
  // keeping, else at the front. Requires: held.
  void release(PageId page, bool keep_content);

  Status check_integrity() const;

 private:
  struct Page {
    uint32_t n_holders = 0;
    PageId next = kNoPage;  // in the free list
    PageId previous = kNoPage;
  };
  void unlink(PageId page);
  void link(PageId page, bool at_back);

  std::vector<Page> pages_;
  PageId front_ = kNoPage;
  PageId back_ = kNoPage;
  uint32_t n_free_ = 0;
};

}  // namespace tempo9::kv
