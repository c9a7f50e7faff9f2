// Who holds which page, and in what order free pages are handed out again. Page numbers only: no
// bytes, no tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace tempo9::kv {

using PageId = uint32_t;
inline constexpr PageId kNoPage = ~0u;

// A page is held (n_holders > 0), or free in one of three ways:
//   warm   its content is known and may be used again: in a doubly linked list, oldest first.
//   Freeing
//          a page does not forget it, handing it out does, so this list is the cache in RAM.
//   blank  has memory and no known content.
//   cold   has no memory: never used, or given back.
// What the pool knows of a page takes memory when the page is first used, not before.
class PagePool {
 public:
  explicit PagePool(uint32_t n_pages) : n_pages_(n_pages) {}

  uint32_t n_pages() const { return n_pages_; }
  uint32_t n_free() const { return n_pages_ - n_held_; }
  uint32_t n_warm() const { return n_warm_; }
  uint32_t n_blank() const { return static_cast<uint32_t>(blank_.size()); }
  // The warm pages, in order of age; kNoPage: none.
  PageId oldest() const { return oldest_; }
  PageId younger(PageId page) const { return pages_[page].next; }
  uint32_t n_resident() const { return n_used() - static_cast<uint32_t>(given_back_.size()); }
  // Pages that were ever used: [0, n_used()).
  uint32_t n_used() const { return static_cast<uint32_t>(pages_.size()); }
  bool is_free(PageId page) const { return pages_[page].n_holders == 0; }
  uint32_t n_holders(PageId page) const { return pages_[page].n_holders; }

  // Memory is short: what has memory is used again before more is touched.
  void set_thrifty(bool thrifty) { thrifty_ = thrifty; }

  // A free page, held once: blank, else cold, else the oldest warm one (thrifty: warm before cold).
  // kNoPage when none is free.
  PageId take();
  // One holder more. A free page must be warm.
  void hold(PageId page);
  // One holder less. Without holders it is warm and the youngest, or blank. Requires: held.
  void release(PageId page, bool keep_content);
  // A free page's content is worth nothing any more: warm becomes blank.
  void forget(PageId page);
  // The next page whose memory should go back, cold from now on: blank, else the oldest warm one.
  // kNoPage: no free page has memory.
  PageId give_back();

  Status check_integrity() const;

 private:
  struct Page {
    uint32_t n_holders = 0;
    bool warm = false;
    PageId next = kNoPage;  // in the list of warm pages
    PageId previous = kNoPage;
  };
  PageId take_blank();
  PageId take_cold();
  PageId take_warm();
  void unlink(PageId page);
  void link(PageId page);

  uint32_t n_pages_;
  std::vector<Page> pages_;
  PageId oldest_ = kNoPage;
  PageId youngest_ = kNoPage;
  uint32_t n_warm_ = 0;
  uint32_t n_held_ = 0;
  bool thrifty_ = false;
  std::vector<PageId> blank_;
  std::vector<PageId> given_back_;
};

}  // namespace tempo9::kv
