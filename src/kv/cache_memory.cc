// The cache's memory: which parts of pages are needed, and what goes when there is too little.
//
// What a window has passed by goes first, the oldest first, but where a sequence ended or forked
// (a border: the next turn, or another session with the same beginning, goes on from there); then
// the pages that were not used for the longest time, with all their parts; borders of pages that
// are held go last.
#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "kv/cache.h"

namespace tempo9::kv {
namespace {

// Looking for what is passed is a walk over all pages: each makes room for many.
constexpr uint64_t kRoomShare = 16;

// Pages that one sequence needs of a class with a window.
uint64_t most_pages(const CacheOptions& options, uint32_t window) {
  return pages_for(uint64_t{window} + options.step_tokens) + 1;
}

}  // namespace

uint64_t sequence_bytes(const CacheOptions& options, uint64_t n_tokens) {
  uint64_t total = 0;
  for (const PageClass& c : options.classes) {
    const uint64_t n_pages = pages_for(n_tokens);
    total += c.bytes * (c.window == 0 ? n_pages : std::min(n_pages, most_pages(options, c.window)));
  }
  return total + (n_tokens > 0 ? options.state_bytes : 0);
}

size_t Cache::first_needed(size_t page_class, size_t n_tokens) const {
  const uint32_t window = options_.classes[page_class].window;
  return window > 0 && n_tokens + 1 > window ? (n_tokens + 1 - window) / kPageTokens : 0;
}

// After how many of these whole pages of one prefix (none, one, ... all) windows are complete, so
// that a sequence can go on from there.
std::vector<bool> Cache::usable(std::span<const PageId> pages) const {
  std::vector<bool> usable(pages.size() + 1, true);
  std::array<size_t, kMaxPageClasses> whole_since{};
  for (size_t i = 0; has_windows() && i < pages.size(); ++i) {
    for (size_t c = 0; c < options_.classes.size(); ++c) {
      if ((parts_[pages[i]] >> c & 1) == 0) whole_since[c] = i + 1;
      if (whole_since[c] > first_needed(c, (i + 1) * kPageTokens)) usable[i + 1] = false;
    }
  }
  return usable;
}

size_t Cache::n_usable(std::span<const PageId> pages) const {
  if (!has_windows()) return pages.size();
  const std::vector<bool> at = usable(pages);
  return static_cast<size_t>(std::find(at.rbegin(), at.rend(), true).base() - at.begin()) - 1;
}

uint64_t Cache::bytes_of(Parts parts) const {
  uint64_t total = 0;
  for (size_t c = 0; c < options_.classes.size(); ++c) {
    if (parts >> c & 1) total += options_.classes[c].bytes;
  }
  return total;
}

uint64_t Cache::missing_bytes(const Table& table, uint32_t n_tokens) const {
  const size_t n_have = table.pages.size();
  const size_t n_new = std::max<size_t>(pages_for(n_tokens), n_have) - n_have;
  uint64_t total = n_new * full_bytes_;
  if (has_states() && table.own_state == kNoSlot) total += options_.state_bytes;
  for (size_t c = 0; c < options_.classes.size(); ++c) {
    const PageClass& page_class = options_.classes[c];
    if (page_class.window == 0) continue;
    const uint64_t most = most_pages(options_, page_class.window);
    const uint64_t n_needed = n_have - std::min(n_have, first_needed(table, c));
    total += page_class.bytes * std::min<uint64_t>(n_new, most - std::min(most, n_needed));
  }
  return total;
}

// One sequence more or less needs a page's part of a class with a window.
void Cache::need(PageId page, size_t page_class, int change) {
  uint16_t& n = n_needing_[page][page_class];
  const uint64_t bytes = options_.classes[page_class].bytes;
  if (n == 0) needed_window_bytes_ += bytes;
  n = static_cast<uint16_t>(n + change);
  if (n == 0) needed_window_bytes_ -= bytes;
}

void Cache::need_all(PageId page, int change) {
  for (size_t c = 0; has_windows() && c < options_.classes.size(); ++c) {
    if (options_.classes[c].window > 0) need(page, c, change);
  }
}

// What a table needs of its page at index.
void Cache::need_at(const Table& table, size_t index, int change) {
  for (size_t c = 0; has_windows() && c < options_.classes.size(); ++c) {
    const bool is_seen = index >= first_needed(table, c);
    if (options_.classes[c].window > 0 && is_seen) need(table.pages[index], c, change);
  }
}

// More of a table is committed: windows pass pages by.
void Cache::advance(Table* table, uint32_t n_committed) {
  for (size_t c = 0; has_windows() && c < options_.classes.size(); ++c) {
    const size_t end = first_needed(c, n_committed);
    for (size_t i = first_needed(*table, c); i < end; ++i) need(table->pages[i], c, -1);
  }
  table->n_committed = n_committed;
}

// Of a page: the parts with a window that some sequence needs.
Cache::Parts Cache::needed_parts(PageId page) const {
  Parts parts = 0;
  for (size_t c = 0; has_windows() && c < options_.classes.size(); ++c) {
    if (n_needing_[page][c] > 0) parts = static_cast<Parts>(parts | 1u << c);
  }
  return parts;
}

void Cache::mark_border(const Table& table, size_t n_tokens) {
  if (!has_windows()) return;
  const size_t n_whole = n_tokens / kPageTokens * kPageTokens;  // where n_usable() looks
  size_t first = table.pages.size();
  for (size_t c = 0; c < options_.classes.size(); ++c) {
    if (options_.classes[c].window > 0) first = std::min(first, first_needed(c, n_whole));
  }
  const size_t end = std::min<size_t>(table.pages.size(), pages_for(n_tokens));
  for (size_t i = first; i < end; ++i) contents_[table.pages[i]].is_border = true;
}

uint64_t Cache::drop(PageId page, size_t page_class) {
  copier_->drop_part(page, page_class);
  parts_[page] = static_cast<Parts>(parts_[page] & ~(1u << page_class));
  resident_bytes_ -= options_.classes[page_class].bytes;
  return options_.classes[page_class].bytes;
}

// Parts that no sequence needs any more, n_bytes of them if there are as many; none of the page
// that is being filled.
uint64_t Cache::drop_passed(uint64_t n_bytes, bool borders_too, PageId filling) {
  if (!has_windows()) return 0;
  uint64_t n_dropped = 0;
  const auto visit = [&](PageId page) {
    if (page == filling || (contents_[page].is_border && !borders_too)) return;
    const Parts passed = static_cast<Parts>(parts_[page] & ~needed_parts(page));
    for (size_t c = 0; c < options_.classes.size(); ++c) {
      if (options_.classes[c].window > 0 && (passed >> c & 1)) n_dropped += drop(page, c);
    }
  };
  for (PageId page = pool_.oldest(); page != kNoPage && n_dropped < n_bytes;
       page = pool_.younger(page)) {
    visit(page);
  }
  for (PageId page = 0; page < pool_.n_used() && n_dropped < n_bytes; ++page) visit(page);
  return n_dropped;
}

// What nobody holds: a state that nobody can go on from, else a page with all its parts (and what
// stands behind it), else a state. False: there is none of these.
bool Cache::drop_oldest(uint64_t* n_dropped) {
  if (states_.n_blank() > 0) return drop_state(states_.give_back(), n_dropped);
  const PageId page = pool_.give_back();
  if (page == kNoPage) return drop_state(states_.give_back(), n_dropped);
  forget(page);
  for (size_t c = 0; c < options_.classes.size(); ++c) {
    if (parts_[page] >> c & 1) *n_dropped += drop(page, c);
  }
  return true;
}

uint64_t Cache::give_back(uint64_t n) {
  uint64_t n_dropped = 0;
  while (n_dropped < n && pool_.n_blank() + states_.n_blank() > 0) drop_oldest(&n_dropped);
  if (n_dropped < n) n_dropped += drop_passed(n - n_dropped, /*borders_too=*/false);
  while (n_dropped < n && drop_oldest(&n_dropped)) {
  }
  return n_dropped;
}

// Requires: free_bytes() are enough for a page.
PageId Cache::take_page() {
  if (has_windows() && resident_bytes_ + page_bytes_ > limit_bytes_) {
    drop_passed(page_bytes_ + limit_bytes_ / kRoomShare, /*borders_too=*/false);
  }
  pool_.set_thrifty(is_thrifty_ || resident_bytes_ + page_bytes_ > limit_bytes_);
  // Before a page is taken: one that is nobody's when this throws would be lost.
  const size_t n = size_t{pool_.n_used()} + 1;
  if (contents_.capacity() < n) contents_.reserve(2 * n);
  if (parts_.capacity() < n) parts_.reserve(2 * n);
  if (has_windows() && n_needing_.capacity() < n) n_needing_.reserve(2 * n);
  const PageId page = pool_.take();
  T9_CHECK(page != kNoPage);
  if (contents_.size() < pool_.n_used()) {
    contents_.resize(pool_.n_used());
    parts_.resize(pool_.n_used(), 0);
    if (has_windows()) n_needing_.resize(pool_.n_used(), Needs{});
  }
  forget(page);
  fill_parts(page);
  return page;
}

void Cache::fill_parts(PageId page) {
  const uint64_t n_bytes = bytes_of(static_cast<Parts>(all_parts_ & ~parts_[page]));
  uint64_t n_dropped = 0;
  while (resident_bytes_ + n_bytes > limit_bytes_ && drop_oldest(&n_dropped)) {
  }
  if (resident_bytes_ + n_bytes > limit_bytes_) {
    drop_passed(n_bytes, /*borders_too=*/true, page);
  }
  T9_CHECK(resident_bytes_ + n_bytes <= limit_bytes_);
  resident_bytes_ += n_bytes;
  parts_[page] = all_parts_;
}

// Parts that the second page has lost, from a page with equal content.
void Cache::move_parts(PageId from, PageId to) {
  for (size_t c = 0; c < options_.classes.size(); ++c) {
    if ((parts_[from] & ~parts_[to]) >> c & 1) {
      copier_->copy_part(from, to, c);
      parts_[to] = static_cast<Parts>(parts_[to] | 1u << c);
      resident_bytes_ += options_.classes[c].bytes;
      drop(from, c);
    }
  }
}

}  // namespace tempo9::kv
