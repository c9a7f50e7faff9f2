#include "kv/page_pool.h"

#include <algorithm>

#include "base/check.h"

namespace tempo9::kv {
namespace {

PageId pop(std::vector<PageId>* stack) {
  if (stack->empty()) {
    return kNoPage;
  }
  const PageId page = stack->back();
  stack->pop_back();
  return page;
}

}  // namespace

PageId PagePool::take_blank() { return pop(&blank_); }

PageId PagePool::take_cold() {
  PageId page = pop(&given_back_);
  if (page == kNoPage && n_used() < n_pages_) {
    page = n_used();
    // To release a page never takes memory: it happens where there may be none.
    if (pages_.size() == pages_.capacity()) {
      const size_t n = std::max<size_t>(16, 2 * pages_.size());
      blank_.reserve(n);
      given_back_.reserve(n);
      pages_.reserve(n);
    }
    pages_.emplace_back();
  }
  return page;
}

PageId PagePool::take_warm() {
  const PageId page = oldest_;
  if (page != kNoPage) {
    unlink(page);
  }
  return page;
}

PageId PagePool::take() {
  PageId page = take_blank();
  if (page == kNoPage) {
    page = thrifty_ ? take_warm() : take_cold();
  }
  if (page == kNoPage) {
    page = thrifty_ ? take_cold() : take_warm();
  }
  if (page != kNoPage) {
    pages_[page].n_holders = 1;
    ++n_held_;
  }
  return page;
}

void PagePool::hold(PageId page) {
  if (pages_[page].n_holders++ == 0) {
    T9_CHECK(pages_[page].warm);
    unlink(page);
    ++n_held_;
  }
}

void PagePool::release(PageId page, bool keep_content) {
  T9_CHECK(pages_[page].n_holders > 0);
  if (--pages_[page].n_holders > 0) {
    return;
  }
  --n_held_;
  if (keep_content) {
    link(page);
  } else {
    blank_.push_back(page);
  }
}

void PagePool::forget(PageId page) {
  T9_CHECK(pages_[page].warm);
  unlink(page);
  blank_.push_back(page);
}

PageId PagePool::give_back() {
  PageId page = take_blank();
  if (page == kNoPage) {
    page = take_warm();
  }
  if (page != kNoPage) {
    given_back_.push_back(page);
  }
  return page;
}

void PagePool::unlink(PageId page) {
  Page& p = pages_[page];
  (p.previous == kNoPage ? oldest_ : pages_[p.previous].next) = p.next;
  (p.next == kNoPage ? youngest_ : pages_[p.next].previous) = p.previous;
  p.next = p.previous = kNoPage;
  p.warm = false;
  --n_warm_;
}

void PagePool::link(PageId page) {
  Page& p = pages_[page];
  p.previous = youngest_;
  (p.previous == kNoPage ? oldest_ : pages_[p.previous].next) = page;
  youngest_ = page;
  p.warm = true;
  ++n_warm_;
}

Status PagePool::check_integrity() const {
  const auto broken = [](const char* what, PageId page) {
    return make_error(ErrorCode::kInternal, "page pool: {} (page {})", what, page);
  };
  uint32_t n_linked = 0;
  PageId previous = kNoPage;
  for (PageId page = oldest_; page != kNoPage; page = pages_[page].next) {
    if (pages_[page].n_holders != 0 || !pages_[page].warm) {
      return broken("a page that is not warm is in the list of warm ones", page);
    }
    if (pages_[page].previous != previous) {
      return broken("the warm list's links disagree", page);
    }
    if (++n_linked > n_used()) {
      return broken("the warm list has a cycle", page);
    }
    previous = page;
  }
  if (youngest_ != previous) {
    return broken("the warm list ends elsewhere", youngest_);
  }
  std::vector<bool> seen(n_used(), false);
  for (const auto* stack : {&blank_, &given_back_}) {
    for (const PageId page : *stack) {
      if (seen[page] || pages_[page].n_holders != 0 || pages_[page].warm) {
        return broken("a page is free in two ways", page);
      }
      seen[page] = true;
    }
  }
  uint32_t n_held = 0;
  for (const Page& page : pages_) {
    n_held += page.n_holders > 0 ? 1 : 0;
  }
  if (n_linked != n_warm_ || n_held != n_held_ ||
      n_held + n_linked + blank_.size() + given_back_.size() != n_used()) {
    return make_error(ErrorCode::kInternal,
                      "page pool: of {} pages {} are held (counted {}), {} warm (counted {}), {} "
                      "blank, {} given back",
                      n_used(), n_held, n_held_, n_linked, n_warm_, blank_.size(),
                      given_back_.size());
  }
  return {};
}

}  // namespace tempo9::kv
