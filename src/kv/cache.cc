#include "kv/cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tempo9::kv {
Lease::Lease(Lease&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), table_(other.table_) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    if (cache_ != nullptr) {
      cache_->close(table_);
    }
    cache_ = std::exchange(other.cache_, nullptr);
    table_ = other.table_;
  }
  return *this;
}

Lease::~Lease() {
  if (cache_ != nullptr) {
    cache_->close(table_);
  }
}

uint32_t Lease::n_cached() const { return cached().total(); }
CachedTokens Lease::cached() const { return cache_->tables_[table_].cached; }
void Lease::use() { cache_->use(cache_->tables_[table_]); }
PrefixKey Lease::chain() const { return cache_->tables_[table_].chain; }
std::span<const PageId> Lease::pages() const { return cache_->tables_[table_].pages; }
bool Lease::extend(uint32_t n_tokens, bool computes) {
  return cache_->extend(&cache_->tables_[table_], n_tokens, computes);
}
void Lease::commit(std::span<const TokenId> tokens, Origin origin) {
  cache_->commit(&cache_->tables_[table_], tokens, origin);
}
uint64_t Lease::missing_bytes(uint32_t n_tokens) const {
  return cache_->missing_bytes(cache_->tables_[table_], n_tokens);
}
Lease::StepStates Lease::begin_step(uint32_t n_rows) {
  return cache_->begin_step(&cache_->tables_[table_], n_rows);
}
void Lease::want_state(uint32_t n_tokens) {
  cache_->want_state(&cache_->tables_[table_], n_tokens);
}
StateSlot Lease::add_state(uint32_t n_tokens) {
  return cache_->add_state(cache_->tables_[table_], n_tokens);
}

void Cache::give_up() {
  for (PageId page = 0; page < parts_.size(); ++page) {
    for (size_t c = 0; c < options_.classes.size(); ++c) {
      if (parts_[page] >> c & 1) copier_->drop_part(page, c);
    }
  }
  for (StateSlot slot = 0; slot < state_has_memory_.size(); ++slot) {
    if (state_has_memory_[slot]) copier_->drop_state(slot);
  }
}

Cache::Cache(CacheOptions options, const HashKey& secret, PageCopier* copier)
    : options_(std::move(options)),
      secret_(secret),
      copier_(copier),
      pool_(options_.n_pages),
      states_(options_.n_states) {
  T9_CHECK(!options_.classes.empty() && options_.classes.size() <= kMaxPageClasses);
  for (size_t c = 0; c < options_.classes.size(); ++c) {
    const PageClass& page_class = options_.classes[c];
    page_bytes_ += page_class.bytes;
    if (page_class.window == 0) full_bytes_ += page_class.bytes;
    all_parts_ = static_cast<Parts>(all_parts_ | 1u << c);
  }
  if (options_.memory_bytes == 0) {
    options_.memory_bytes =
        page_bytes_ * options_.n_pages + options_.state_bytes * options_.n_states;
  }
  limit_bytes_ = options_.memory_bytes;
}

Lease Cache::match_prefix(std::span<const TokenId> tokens, uint32_t limit) {
  tokens = tokens.first(std::min<size_t>(tokens.size(), limit));
  Table found;
  while ((found.pages.size() + 1) * kPageTokens <= tokens.size()) {
    PrefixKey key;
    const PageId page =
        find_full(found.chain, tokens.subspan(found.pages.size() * kPageTokens, kPageTokens), &key);
    if (page == kNoPage) break;
    found.pages.push_back(page);
    found.chain = key;
  }
  const size_t n_pages = has_states() ? find_state(&found, tokens) : n_usable(found.pages);
  if (n_pages < found.pages.size()) {
    found.fork = static_cast<uint32_t>(found.pages.size()) * kPageTokens;
    found.pages.resize(n_pages);
    found.chain = n_pages > 0 ? contents_[found.pages.back()].key : PrefixKey{};
  }
  found.n_committed = static_cast<uint32_t>(n_pages) * kPageTokens;
  if (!has_states()) find_tail(&found, tokens.subspan(found.n_committed));
  // Nothing is held before the last that may find no memory.
  const uint32_t index = new_table(std::move(found));
  Table& table = tables_[index];
  for (size_t i = 0; i < n_pages; ++i) {
    hit(&table, table.pages[i], kPageTokens);
    need_at(table, i, +1);
  }
  if (table.tail_source != kNoPage) {
    hit(&table, table.tail_source, table.n_tail);
    need_all(table.tail_source, +1);
  }
  table.n_state = table.cached.total();
  if (table.state_source != kNoSlot) states_.hold(table.state_source);
  return Lease(this, index);
}

void Cache::hit(Table* table, PageId page, uint32_t n_tokens) {
  CachedTokens& cached = table->cached;
  (contents_[page].from_disk ? cached.disk
   : pool_.is_free(page)     ? cached.ram
                             : cached.live) += n_tokens;
  pool_.hold(page);
}

void Cache::use(const Table& table) {
  for (const PageId page : table.pages) contents_[page].from_disk = false;
  if (table.tail_source != kNoPage) contents_[table.tail_source].from_disk = false;
  mark_border(table, table.n_committed);
}

PageId Cache::find_full(const PrefixKey& parent, std::span<const TokenId> tokens,
                        PrefixKey* key) const {
  *key = extend_key(secret_, parent, tokens);
  const auto it = full_pages_.find(*key);
  if (it == full_pages_.end()) {
    return kNoPage;
  }
  const Content& content = contents_[it->second];
  return content.parent == parent && std::ranges::equal(content.span(), tokens) ? it->second
                                                                                : kNoPage;
}

// The page after the chain that shares the most tokens, if any.
void Cache::find_tail(Table* table, std::span<const TokenId> tokens) const {
  const auto it = first_child_.find(table->chain);
  PageId page = it == first_child_.end() ? kNoPage : it->second;
  for (; page != kNoPage; page = contents_[page].next_sibling) {
    const uint32_t n = common_prefix(contents_[page].span(), tokens);
    if (n > table->n_tail && is_whole(page)) {
      table->n_tail = n;
      table->tail_source = page;
    }
  }
}

uint32_t Cache::new_table(Table table) {
  if (free_tables_.empty()) {
    free_tables_.reserve(tables_.size() + 1);  // so that closing never takes memory
    tables_.emplace_back();
    free_tables_.push_back(static_cast<uint32_t>(tables_.size()) - 1);
  }
  const uint32_t index = free_tables_.back();
  free_tables_.pop_back();
  tables_[index] = std::move(table);
  tables_[index].in_use = true;
  return index;
}

void Cache::close(uint32_t table_index) {
  Table& table = tables_[table_index];
  mark_border(table, table.n_committed);
  close_states(&table);
  if (table.tail_source != kNoPage) {
    need_all(table.tail_source, -1);
    pool_.release(table.tail_source, contents_[table.tail_source].n_tokens > 0);
  }
  for (size_t i = 0; i < table.pages.size(); ++i) need_at(table, i, -1);
  // Last page first: a prefix is worth more than what follows it, and is evicted after it.
  for (auto it = table.pages.rbegin(); it != table.pages.rend(); ++it) {
    pool_.release(*it, contents_[*it].n_tokens > 0);
  }
  table = Table{};
  free_tables_.push_back(table_index);
}

std::optional<Cache::WholePage> Cache::next_whole_page() {
  while (!whole_pages_.empty()) {
    const auto [page, key] = whole_pages_.front();
    whole_pages_.pop_front();
    const Content& content = contents_[page];
    if (content.n_tokens == kPageTokens && content.key == key && is_whole(page)) {
      return WholePage{page, content.parent, key, content.span()};
    }
  }
  return std::nullopt;
}

std::optional<Cache::WholePage> Cache::whole_page(const PrefixKey& key) const {
  const auto it = full_pages_.find(key);
  if (it == full_pages_.end() || !is_whole(it->second)) return std::nullopt;
  const Content& content = contents_[it->second];
  return WholePage{it->second, content.parent, key, content.span()};
}

bool Cache::extend(Table* table, uint32_t n_tokens, bool computes) {
  const uint64_t n_wanted = pages_for(n_tokens);
  const size_t n_new = std::max<size_t>(n_wanted, table->pages.size()) - table->pages.size();
  const bool needs_state = computes && has_states() && table->own_state == kNoSlot;
  if (n_new == 0 && !needs_state) return true;
  const uint64_t n_free_bytes = free_bytes();
  const auto fits = [&](size_t n_pages, size_t n_slots) {
    return n_pages <= pool_.n_free() && n_slots <= states_.n_free() &&
           n_pages * page_bytes_ + n_slots * options_.state_bytes <= n_free_bytes;
  };
  // A page that only this table waits to copy from can serve as the copy when memory is that short;
  // a state that only this table starts from, as its own.
  const bool is_short = !fits(n_new, needs_state ? 1 : 0);
  const bool takes_source = is_short && n_new > 0 && table->tail_source != kNoPage &&
                            pool_.n_holders(table->tail_source) == 1;
  const bool takes_state = is_short && needs_state && table->state_source != kNoSlot &&
                           states_.n_holders(table->state_source) == 1;
  if (!fits(n_new - (takes_source ? 1 : 0), needs_state && !takes_state ? 1 : 0)) return false;
  table->pages.reserve(std::max<size_t>(n_wanted, table->pages.size()));  // before any is taken
  if (takes_state) {
    disown_state(table->state_source);
    table->own_state = std::exchange(table->state_source, kNoSlot);
  } else if (needs_state) {
    table->own_state = take_state(/*is_needed=*/true);
  }
  if (takes_source) {
    const PageId source = std::exchange(table->tail_source, kNoPage);
    forget(source);
    need_all(source, -1);
    table->pages.push_back(source);
    need_at(*table, table->pages.size() - 1, +1);
  }
  while (table->pages.size() < n_wanted) {
    const PageId page = take_page();  // while the source still counts as needed
    table->pages.push_back(page);
    need_at(*table, table->pages.size() - 1, +1);
    if (const PageId source = std::exchange(table->tail_source, kNoPage); source != kNoPage) {
      copier_->copy_page(source, page, table->n_tail);
      need_all(source, -1);
      pool_.release(source, contents_[source].n_tokens > 0);
    }
  }
  return true;
}

// Sequences that wait to copy from a page turn to one with equal content.
void Cache::wait_for(PageId page, PageId equal) {
  for (Table& table : tables_) {
    if (table.tail_source != page) continue;
    pool_.hold(equal);
    need_all(equal, +1);
    table.tail_source = equal;
    need_all(page, -1);
    pool_.release(page, true);
  }
}

void Cache::commit(Table* table, std::span<const TokenId> tokens, Origin origin) {
  T9_CHECK(tokens.size() >= table->n_committed && tokens.size() >= table->cached.total() &&
           pages_for(tokens.size()) <= table->pages.size());
  while (table->n_committed < tokens.size()) {
    const uint32_t index = table->n_committed / kPageTokens;
    const uint32_t begin = index * kPageTokens;
    const auto n = std::min<uint32_t>(kPageTokens, static_cast<uint32_t>(tokens.size()) - begin);
    const auto page_tokens = tokens.subspan(begin, n);
    PageId& page = table->pages[index];
    if (n == kPageTokens) {
      PrefixKey key;
      const PageId known = find_full(table->chain, page_tokens, &key);
      if (known != kNoPage && known != page) {
        // Bit-equal by the determinism rule, so one of the two is enough.
        pool_.hold(known);
        if (pool_.n_holders(page) > 1) wait_for(page, known);
        move_parts(page, known);
        forget(page);
        need_at(*table, index, -1);
        pool_.release(page, false);
        page = known;
        need_at(*table, index, +1);
      } else {
        learn(page, table->chain, page_tokens, origin);
      }
      table->chain = key;
    } else {
      learn(page, table->chain, page_tokens, origin);
    }
    advance(table, begin + n);
  }
  if (table->fork > 0 && table->n_committed >= table->fork) {
    mark_border(*table, std::exchange(table->fork, 0));
  }
  if (has_states()) end_step(table, static_cast<uint32_t>(tokens.size()), origin);
}

// Requires: what is known of the page, if anything, is the beginning of these tokens after the same
// parent.
void Cache::learn(PageId page, const PrefixKey& parent, std::span<const TokenId> tokens,
                  Origin origin) {
  Content& content = contents_[page];
  T9_CHECK(content.state == kNoSlot);  // it would stand behind other tokens
  if (content.n_tokens == 0) {
    content.parent = parent;
    content.from_disk = origin == Origin::kDisk;
    content.previous_sibling = kNoPage;
    const auto [it, inserted] = first_child_.try_emplace(parent, page);
    content.next_sibling = inserted ? kNoPage : std::exchange(it->second, page);
    if (content.next_sibling != kNoPage) {
      contents_[content.next_sibling].previous_sibling = page;
    }
  }
  std::ranges::copy(tokens, content.tokens.begin());
  content.n_tokens = static_cast<uint32_t>(tokens.size());
  if (content.n_tokens == kPageTokens) {
    content.key = extend_key(secret_, parent, tokens);
    // A hash collision with other tokens (never seen by anyone) leaves the older page in the index.
    full_pages_.try_emplace(content.key, page);
    if (lists_whole_pages_ && origin == Origin::kComputed) {
      whole_pages_.emplace_back(page, content.key);
      if (whole_pages_.size() > pool_.n_pages()) whole_pages_.pop_front();  // long gone
    }
  }
}

void Cache::forget(PageId page) {
  Content& content = contents_[page];
  if (content.n_tokens == 0) {
    return;
  }
  forget_state(page);
  if (content.previous_sibling != kNoPage) {
    contents_[content.previous_sibling].next_sibling = content.next_sibling;
  } else if (content.next_sibling != kNoPage) {
    first_child_[content.parent] = content.next_sibling;
  } else {
    first_child_.erase(content.parent);
  }
  if (content.next_sibling != kNoPage) {
    contents_[content.next_sibling].previous_sibling = content.previous_sibling;
  }
  if (content.n_tokens == kPageTokens) {
    const auto it = full_pages_.find(content.key);
    if (it != full_pages_.end() && it->second == page) {
      full_pages_.erase(it);
    }
  }
  content.n_tokens = 0;
  content.is_border = false;
}

}  // namespace tempo9::kv
