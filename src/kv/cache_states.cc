// Where states of recurrent layers are kept, so that others can go on from there: a prefix is a hit
// only as far as a state stands.
//
// A sequence leaves states behind
//  - at the last page border before its prompt's end: the same prompt, or the next turn without
//    what was thought, goes on from there;
//  - where it ends: the next turn goes on from there, as does one whose last message was edited;
//  - where it leaves what others have computed: two prompts with the same beginning share that;
//  - every so many pages, so that states take at most half as much as the pages between them.
// They stand at page borders, but for where a sequence ends. All together take at most a quarter of
// the memory, and the one that was not used for the longest time goes first.
#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "kv/cache.h"

namespace tempo9::kv {
namespace {

constexpr uint64_t kStateShare = 4;  // of memory
constexpr uint64_t kFewStates = 4;   // that are always allowed, if there is room
constexpr uint64_t kMaxPagesApart = 64;

}  // namespace

// The deepest place, after whole pages of table.pages or within the next one, behind which a state
// stands. Sets state_source, tail_source and n_tail; returns the whole pages before it.
size_t Cache::find_state(Table* table, std::span<const TokenId> tokens) const {
  const std::vector<bool> is_usable = usable(table->pages);
  for (size_t n = table->pages.size();; --n) {
    const Content* last = n > 0 ? &contents_[table->pages[n - 1]] : nullptr;
    const PageId child = is_usable[n] ? child_with_state(last ? last->key : PrefixKey{},
                                                         tokens.subspan(n * kPageTokens))
                                      : kNoPage;
    if (child != kNoPage) {
      table->tail_source = child;
      table->n_tail = contents_[child].n_tokens;
      table->state_source = contents_[child].state;
    } else if (last && is_usable[n]) {
      table->state_source = last->state;
    }
    if (n == 0 || table->state_source != kNoSlot) return n;
  }
}

// Of the pages that hold a beginning of tokens behind parent, in part, the longest with a state.
PageId Cache::child_with_state(const PrefixKey& parent, std::span<const TokenId> tokens) const {
  const auto it = first_child_.find(parent);
  PageId best = kNoPage;
  uint32_t n_best = 0;
  for (PageId page = it == first_child_.end() ? kNoPage : it->second; page != kNoPage;
       page = contents_[page].next_sibling) {
    const Content& content = contents_[page];
    if (content.state == kNoSlot || content.n_tokens <= n_best || !is_whole(page)) continue;
    if (content.n_tokens == kPageTokens ||
        common_prefix(content.span(), tokens) < content.n_tokens) {
      continue;
    }
    best = page;
    n_best = content.n_tokens;
  }
  return best;
}

// A slot that is held once. Not needed ones, for others to go on from, push out only what was not
// used for long. kNoSlot: there is no room.
StateSlot Cache::take_state(bool is_needed) {
  if (states_.n_free() == 0) return kNoSlot;
  const uint64_t bytes = options_.state_bytes;
  const uint64_t n_allowed = std::max(kFewStates, limit_bytes_ / kStateShare / bytes);
  const bool is_thrifty = is_thrifty_ || n_resident_states_ >= n_allowed;
  states_.set_thrifty(is_thrifty);
  const bool reuses = states_.n_blank() > 0 || (is_thrifty && states_.n_warm() > 0);
  uint64_t n_dropped = 0;
  while (!reuses && resident_bytes_ + bytes > limit_bytes_ && drop_oldest(&n_dropped)) {
  }
  if (!reuses && resident_bytes_ + bytes > limit_bytes_) {
    drop_passed(bytes, /*borders_too=*/is_needed);
    if (!is_needed && resident_bytes_ + bytes > limit_bytes_) return kNoSlot;
  }
  // As with pages (take_page).
  const size_t n = size_t{states_.n_used()} + 1;
  if (state_owners_.capacity() < n) state_owners_.reserve(2 * n);
  if (state_has_memory_.capacity() < n) state_has_memory_.reserve(2 * n);
  const StateSlot slot = states_.take();
  if (state_owners_.size() < states_.n_used()) {
    state_owners_.resize(states_.n_used(), kNoPage);
    state_has_memory_.resize(states_.n_used(), false);
  }
  disown_state(slot);
  if (!state_has_memory_[slot]) {
    T9_CHECK(resident_bytes_ + bytes <= limit_bytes_);
    resident_bytes_ += bytes;
    state_has_memory_[slot] = true;
    ++n_resident_states_;
  }
  return slot;
}

bool Cache::drop_state(StateSlot slot, uint64_t* n_dropped) {
  if (slot == kNoSlot) return false;
  disown_state(slot);
  copier_->drop_state(slot);
  state_has_memory_[slot] = false;
  --n_resident_states_;
  resident_bytes_ -= options_.state_bytes;
  *n_dropped += options_.state_bytes;
  return true;
}

void Cache::disown_state(StateSlot slot) {
  const PageId owner = std::exchange(state_owners_[slot], kNoPage);
  if (owner != kNoPage) contents_[owner].state = kNoSlot;
}

void Cache::release_state(StateSlot slot) {
  if (slot != kNoSlot) states_.release(slot, state_owners_[slot] != kNoPage);
}

// A page's content goes, and what stands behind it.
void Cache::forget_state(PageId page) {
  const StateSlot slot = contents_[page].state;
  if (slot == kNoSlot) return;
  disown_state(slot);
  if (states_.is_free(slot)) states_.forget(slot);
}

// A sequence's end must not fail: without memory for it the state is not written to disk.
void Cache::list_whole_state(PageId page) {
  try {
    whole_states_.emplace_back(page, contents_[page].key);
    if (whole_states_.size() > pool_.n_pages()) whole_states_.pop_front();  // long gone
  } catch (const std::bad_alloc&) {
  }
}

// A held slot becomes the state behind what is known of a page, if there is none yet.
void Cache::keep_state(PageId page, StateSlot slot) {
  Content& content = contents_[page];
  if (content.state == kNoSlot) {
    content.state = slot;
    state_owners_[slot] = page;
    if (lists_whole_pages_ && content.n_tokens == kPageTokens) list_whole_state(page);
  }
  release_state(slot);
}

void Cache::want_state(Table* table, uint32_t n_tokens) {
  const uint32_t border = n_tokens / kPageTokens * kPageTokens;
  std::vector<uint32_t>& wanted = table->wanted_states;
  if (!has_states() || border <= table->n_state) return;
  if (std::ranges::find(wanted, border) == wanted.end()) wanted.push_back(border);
}

Lease::StepStates Cache::begin_step(Table* table, uint32_t n_rows) {
  if (!has_states()) return {};
  cancel_step(table);
  const uint32_t begin = table->n_state, end = begin + n_rows;
  T9_CHECK(table->own_state != kNoSlot && n_rows > 0 && pages_for(end) <= table->pages.size());
  std::vector<uint32_t>& wanted = table->wanted_states;
  std::erase_if(wanted, [&](uint32_t border) { return border <= begin; });
  std::vector<uint32_t> borders;
  for (const uint32_t border : wanted)
    if (border <= end) borders.push_back(border);
  const uint64_t n_apart = std::clamp<uint64_t>(
      (2 * options_.state_bytes + page_bytes_ - 1) / page_bytes_, 1, kMaxPagesApart);
  const uint64_t step = n_apart * kPageTokens;
  for (uint64_t border = (begin / step + 1) * step; border <= end; border += step)
    borders.push_back(static_cast<uint32_t>(border));
  if (table->fork > begin && table->fork <= end) borders.push_back(table->fork);
  std::ranges::sort(borders);
  borders.erase(std::ranges::unique(borders).begin(), borders.end());
  table->step_states.reserve(borders.size() + 1);
  for (const uint32_t border : borders) {
    const StateSlot slot = take_state(/*is_needed=*/false);
    if (slot != kNoSlot) table->step_states.push_back({border - begin - 1, slot});
  }
  table->step_states.push_back({n_rows - 1, table->own_state});
  return {begin == 0                       ? kNoSlot
          : table->state_source != kNoSlot ? table->state_source
                                           : table->own_state,
          table->step_states};
}

// What was begun has not run, or nobody knows how far: its states are nobody's.
void Cache::cancel_step(Table* table) {
  for (const StateOut& out : table->step_states)
    if (out.slot != table->own_state) release_state(out.slot);
  table->step_states.clear();
}

// The step that was begun has run: its tokens are committed.
void Cache::end_step(Table* table, uint32_t n_tokens, Origin origin) {
  if (origin == Origin::kDisk) return;  // nothing ran
  T9_CHECK(!table->step_states.empty() &&
           n_tokens == table->n_state + table->step_states.back().row + 1);
  for (const StateOut& out : table->step_states) {
    const uint32_t border = table->n_state + out.row + 1;
    if (out.slot != table->own_state) keep_state(table->pages[border / kPageTokens - 1], out.slot);
  }
  table->step_states.clear();
  table->n_state = n_tokens;
  release_state(std::exchange(table->state_source, kNoSlot));
}

// The state where a sequence ends is there for the next turn: nothing needs to be copied.
void Cache::close_states(Table* table) {
  const bool is_certain = table->step_states.empty();
  cancel_step(table);
  release_state(std::exchange(table->state_source, kNoSlot));
  const StateSlot own = std::exchange(table->own_state, kNoSlot);
  if (own == kNoSlot) return;
  if (is_certain && table->n_state > 0 && table->n_state == table->n_committed) {
    keep_state(table->pages[pages_for(table->n_state) - 1], own);
  } else {
    release_state(own);
  }
}

StateSlot Cache::add_state(const Table& table, uint32_t n_tokens) {
  T9_CHECK(n_tokens > 0 && n_tokens % kPageTokens == 0 && n_tokens <= table.n_committed);
  const PageId page = table.pages[n_tokens / kPageTokens - 1];
  if (contents_[page].state != kNoSlot) return kNoSlot;
  const StateSlot slot = take_state(/*is_needed=*/false);
  if (slot == kNoSlot) return kNoSlot;
  contents_[page].state = slot;
  state_owners_[slot] = page;
  release_state(slot);
  return slot;
}

std::optional<Cache::WholeState> Cache::next_whole_state() {
  while (!whole_states_.empty()) {
    const auto [page, key] = whole_states_.front();
    whole_states_.pop_front();
    const Content& content = contents_[page];
    if (content.n_tokens == kPageTokens && content.key == key && content.state != kNoSlot) {
      return WholeState{content.state, {page, content.parent, key, content.span()}};
    }
  }
  return std::nullopt;
}

}  // namespace tempo9::kv
