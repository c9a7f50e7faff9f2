#include "kv/page_pool.h"

#include "base/check.h"

namespace tempo9::kv {

PagePool::PagePool(uint32_t n_pages) : pages_(n_pages) {
  for (PageId page = 0; page < n_pages; ++page) {
    link(page, true);
  }
}

PageId PagePool::take() {
  const PageId page = front_;
  if (page != kNoPage) {
    hold(page);
  }
  return page;
}

void PagePool::hold(PageId page) {
  if (pages_[page].n_holders++ == 0) {
    unlink(page);
  }
}

void PagePool::release(PageId page, bool keep_content) {
  T9_CHECK(pages_[page].n_holders > 0);
  if (--pages_[page].n_holders == 0) {
    link(page, keep_content);
  }
}

void PagePool::unlink(PageId page) {
  Page& p = pages_[page];
  (p.previous == kNoPage ? front_ : pages_[p.previous].next) = p.next;
  (p.next == kNoPage ? back_ : pages_[p.next].previous) = p.previous;
  p.next = p.previous = kNoPage;
  --n_free_;
}

void PagePool::link(PageId page, bool at_back) {
  Page& p = pages_[page];
  p.next = at_back ? kNoPage : front_;
  p.previous = at_back ? back_ : kNoPage;
  (p.previous == kNoPage ? front_ : pages_[p.previous].next) = page;
  (p.next == kNoPage ? back_ : pages_[p.next].previous) = page;
  ++n_free_;
}

Status PagePool::check_integrity() const {
  const auto broken = [](const char* what, PageId page) {
    return make_error(ErrorCode::kInternal, "page pool: {} (page {})", what, page);
  };
  uint32_t n_linked = 0;
  PageId previous = kNoPage;
  for (PageId page = front_; page != kNoPage; page = pages_[page].next) {
    if (pages_[page].n_holders != 0) {
      return broken("a held page is in the free list", page);
    }
    if (pages_[page].previous != previous) {
      return broken("the free list's links disagree", page);
    }
    if (++n_linked > n_pages()) {
      return broken("the free list has a cycle", page);
    }
    previous = page;
  }
  if (back_ != previous) {
    return broken("the free list ends elsewhere", back_);
  }
  uint32_t n_unheld = 0;
  for (const Page& page : pages_) {
    n_unheld += page.n_holders == 0 ? 1 : 0;
  }
  if (n_linked != n_free_ || n_unheld != n_free_) {
    return make_error(ErrorCode::kInternal,
                      "page pool: {} pages counted free, {} in the free list, {} without a holder",
                      n_free_, n_linked, n_unheld);
  }
  return {};
}

}  // namespace tempo9::kv
