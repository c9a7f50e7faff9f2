// Cache::check_integrity: every invariant of cache.h, from scratch. For tests; a walk over
// everything.
#include <algorithm>

#include "kv/cache.h"

namespace tempo9::kv {
namespace {

Error broken(const char* what, uint32_t where) {
  return make_error(ErrorCode::kInternal, "kv cache: {} ({})", what, where);
}

}  // namespace

Status Cache::check_integrity() const {
  T9_TRY(pool_.check_integrity());
  T9_TRY(check_contents());
  T9_TRY(check_memory());
  T9_TRY(check_states());
  return check_tables();
}

// What is counted of needs, from the tables.
Status Cache::check_needs() const {
  std::vector<Needs> expected(n_needing_.size(), Needs{});
  uint64_t n_bytes = 0;
  for (size_t c = 0; has_windows() && c < options_.classes.size(); ++c) {
    if (options_.classes[c].window == 0) continue;
    for (const Table& table : tables_) {
      for (size_t i = first_needed(table, c); i < table.pages.size(); ++i) {
        ++expected[table.pages[i]][c];
      }
      if (table.tail_source != kNoPage) ++expected[table.tail_source][c];
    }
    for (const Needs& needs : expected) n_bytes += needs[c] > 0 ? options_.classes[c].bytes : 0;
  }
  if (expected != n_needing_ || n_bytes != needed_window_bytes_) {
    return make_error(ErrorCode::kInternal,
                      "kv cache: windows need {} bytes (counted {}), or others than are counted",
                      n_bytes, needed_window_bytes_);
  }
  return {};
}

Status Cache::check_memory() const {
  T9_TRY(check_needs());
  uint64_t total = 0;
  for (PageId page = 0; page < pool_.n_used(); ++page) {
    const bool is_used = !pool_.is_free(page) || contents_[page].n_tokens > 0;
    for (size_t c = 0; c < options_.classes.size(); ++c) {
      const bool is_needed = options_.classes[c].window > 0 ? needed_parts(page) >> c & 1 : is_used;
      if (is_needed && (parts_[page] >> c & 1) == 0) {
        return broken("a part that is needed has no memory", page);
      }
    }
    total += bytes_of(parts_[page]);
  }
  total += n_resident_states_ * options_.state_bytes;
  if (total != resident_bytes_ || total > options_.memory_bytes) {
    return make_error(ErrorCode::kInternal,
                      "kv cache: parts take {} bytes (counted {}), {} are allowed", total,
                      resident_bytes_, options_.memory_bytes);
  }
  return {};
}

Status Cache::check_states() const {
  T9_TRY(states_.check_integrity());
  if (states_.n_used() != state_owners_.size() || states_.n_used() != state_has_memory_.size()) {
    return broken("what is known of slots is not as much as were used", states_.n_used());
  }
  std::vector<uint32_t> n_holders(states_.n_used(), 0);
  for (uint32_t i = 0; i < tables_.size(); ++i) {
    const Table& table = tables_[i];
    if (table.own_state != kNoSlot) {
      ++n_holders[table.own_state];
      if (state_owners_[table.own_state] != kNoPage)
        return broken("a page owns a table's state", i);
    }
    if (table.state_source != kNoSlot) ++n_holders[table.state_source];
    for (const StateOut& out : table.step_states) {
      if (out.slot != table.own_state) ++n_holders[out.slot];
    }
    const bool has_state = table.own_state != kNoSlot || table.state_source != kNoSlot;
    if (has_states() && table.n_state > 0 && !has_state) return broken("a table has no state", i);
  }
  uint64_t n_resident = 0;
  for (StateSlot slot = 0; slot < states_.n_used(); ++slot) {
    n_resident += state_has_memory_[slot] ? 1 : 0;
    const PageId owner = state_owners_[slot];
    if (n_holders[slot] != states_.n_holders(slot)) {
      return broken("a state's holders are not the tables that use it", slot);
    }
    if (owner != kNoPage && (contents_[owner].n_tokens == 0 || contents_[owner].state != slot)) {
      return broken("a state's page does not know it", slot);
    }
    if ((owner != kNoPage || n_holders[slot] > 0) && !state_has_memory_[slot]) {
      return broken("a state that is used has no memory", slot);
    }
  }
  for (PageId page = 0; page < pool_.n_used(); ++page) {
    const StateSlot slot = contents_[page].state;
    if (contents_[page].n_tokens > 0 && slot != kNoSlot && state_owners_[slot] != page) {
      return broken("a page's state is another's", page);
    }
  }
  return n_resident == n_resident_states_ ? Status()
                                          : broken("slots with memory are counted wrongly", 0);
}

Status Cache::check_contents() const {
  size_t n_full = 0;
  size_t n_known = 0;
  if (contents_.size() != pool_.n_used() || parts_.size() != pool_.n_used()) {
    return broken("what is known of pages is not as much as were used", pool_.n_used());
  }
  for (PageId page = 0; page < pool_.n_used(); ++page) {
    const Content& content = contents_[page];
    if (content.n_tokens > kPageTokens) {
      return broken("a page knows more tokens than it holds", page);
    }
    n_known += content.n_tokens > 0 ? 1 : 0;
    if (content.n_tokens < kPageTokens) {
      continue;
    }
    ++n_full;
    if (content.key != extend_key(secret_, content.parent, content.span())) {
      return broken("a whole page's key is not its tokens' hash", page);
    }
    const auto it = full_pages_.find(content.key);
    if (it == full_pages_.end() || it->second != page) {
      return broken("a whole page is not in the index", page);
    }
  }
  if (n_full != full_pages_.size()) {
    return broken("the index names pages that are not whole", static_cast<uint32_t>(n_full));
  }
  size_t n_children = 0;
  for (const auto& [parent, first] : first_child_) {
    PageId previous = kNoPage;
    for (PageId page = first; page != kNoPage; page = contents_[page].next_sibling) {
      const Content& content = contents_[page];
      if (content.n_tokens == 0 || content.parent != parent ||
          content.previous_sibling != previous || ++n_children > n_known) {
        return broken("a list of children is wrong at a page", page);
      }
      previous = page;
    }
  }
  if (n_children != n_known) {
    return broken("pages with known content that are nobody's child",
                  static_cast<uint32_t>(n_known - n_children));
  }
  return {};
}

Status Cache::check_tables() const {
  std::vector<uint32_t> n_holders(pool_.n_used(), 0);
  size_t n_unused = 0;
  for (uint32_t i = 0; i < tables_.size(); ++i) {
    const Table& table = tables_[i];
    n_unused += table.in_use ? 0 : 1;
    PrefixKey chain;
    for (uint32_t p = 0; p < table.pages.size(); ++p) {
      const PageId page = table.pages[p];
      const Content& content = contents_[page];
      ++n_holders[page];
      const uint32_t begin = p * kPageTokens;
      const uint32_t n_known = std::min(kPageTokens, std::max(table.n_committed, begin) - begin);
      if (content.n_tokens != n_known || (n_known > 0 && content.parent != chain)) {
        return broken("a table's page does not hold what was committed", i);
      }
      if (n_known < kPageTokens && pool_.n_holders(page) > 1) {
        // Others may wait to copy from it, but no other table may list it: checked by the count
        // below and here.
        for (uint32_t other = 0; other < tables_.size(); ++other) {
          if (other != i && std::ranges::count(tables_[other].pages, page) != 0) {
            return broken("two tables share a page that is still written", page);
          }
        }
      }
      chain = n_known == kPageTokens ? content.key : chain;
    }
    if (table.chain != chain) {
      return broken("a table's chain is not its last whole page's key", i);
    }
    if (table.tail_source != kNoPage) {
      ++n_holders[table.tail_source];
      const Content& source = contents_[table.tail_source];
      if (source.n_tokens < table.n_tail || source.parent != table.chain) {
        return broken("a table waits to copy from a page that does not hold it", i);
      }
    }
  }
  if (n_unused != free_tables_.size()) {
    return broken("unused tables that are not listed", static_cast<uint32_t>(n_unused));
  }
  for (PageId page = 0; page < pool_.n_used(); ++page) {
    if (n_holders[page] != pool_.n_holders(page)) {
      return broken("a page's holders are not the tables that list it", page);
    }
  }
  return {};
}

}  // namespace tempo9::kv
