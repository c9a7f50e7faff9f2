#include "engine/offload.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"

namespace tempo9::engine {
namespace {

// Pages that one step hands on, so that copying them never shows in the gap between two tokens.
constexpr size_t kPagesAStep = 16;

}  // namespace

Offload::Offload(kv::Cache* cache, kv::DiskTier* tier, kv::DiskTier* states, ops::Backend* backend)
    : cache_(cache), tier_(tier), states_(states), backend_(backend) {
  cache_->set_lists_whole_pages(true);
}

// How many tokens of a prompt to bring, behind what is known: all that are on disk, the last page
// perhaps in part; with recurrent layers no more than a state stands behind, and before the
// prompt's last token, which is always computed. 0: nothing.
size_t Offload::n_wanted(const kv::Lease& known, std::span<const kv::TokenId> prompt) const {
  const size_t n_known = size_t{known.n_cached()} / kv::kPageTokens * kv::kPageTokens;
  const auto rest = prompt.subspan(n_known);
  const size_t n_pages = tier_->n_known(known.chain(), rest);
  if (!cache_->has_states()) return n_pages > 0 ? rest.size() : 0;
  size_t n_behind = 0;
  kv::PrefixKey key = known.chain();
  for (size_t i = 0; states_ && i < n_pages && (i + 1) * kv::kPageTokens < rest.size(); ++i) {
    key = kv::extend_key(tier_->secret(), key, rest.subspan(i * kv::kPageTokens, kv::kPageTokens));
    if (states_->knows(key)) n_behind = (i + 1) * kv::kPageTokens;
  }
  // What is known may go on within a page, with a state of its own.
  return n_known + n_behind > known.n_cached() ? n_behind : 0;
}

bool Offload::begin(uint64_t request, std::span<const kv::TokenId> prompt) {
  if (n_wanted(cache_->match_prefix(prompt), prompt) == 0) return false;
  waiting_.push_back({request, {prompt.begin(), prompt.end()}});
  if (waiting_.size() > 1) return true;
  return start_front();
}

// Finds what is in memory by now, and asks for the rest. False: there is nothing to ask for, and
// the front one has gone.
bool Offload::start_front() {
  const Waiting& front = waiting_.front();
  lease_ = cache_->match_prefix(front.prompt);
  const size_t n_known = size_t{lease_->n_cached()} / kv::kPageTokens * kv::kPageTokens;
  const auto rest = std::span(front.prompt).subspan(n_known, n_wanted(*lease_, front.prompt));
  if (rest.empty()) {
    lease_.reset();
    waiting_.pop_front();
    return false;
  }
  known_.assign(front.prompt.begin(), front.prompt.begin() + static_cast<ptrdiff_t>(n_known));
  n_loading_ = n_known + rest.size();
  tier_->load(lease_->chain(), rest);
  if (cache_->has_states()) {
    const auto before = rest.first(rest.size() - kv::kPageTokens);
    kv::PrefixKey parent = lease_->chain();
    for (size_t i = 0; i < before.size(); i += kv::kPageTokens)
      parent = kv::extend_key(tier_->secret(), parent, before.subspan(i, kv::kPageTokens));
    states_->load(parent, rest.last(kv::kPageTokens));
  }
  return true;
}

void Offload::cancel(uint64_t request) {
  const auto it = std::ranges::find(waiting_, request, &Waiting::request);
  if (it == waiting_.end()) return;
  if (it != waiting_.begin()) {
    waiting_.erase(it);
    return;
  }
  // The next poll() finds that nothing more comes, and starts the next one.
  stop_loading();
  waiting_.front().request = 0;
}

bool Offload::is_waiting(uint64_t request) const {
  return std::ranges::find(waiting_, request, &Waiting::request) != waiting_.end();
}

void Offload::give_up() {
  stop_loading();
  if (lease_) lease_->detach();
  lease_.reset();
  waiting_.clear();
}

bool Offload::give_way() {
  if (!lease_) return false;
  stop_loading();
  lease_.reset();  // the next poll() finds that nothing more comes
  return true;
}

std::vector<uint64_t> Offload::poll() {
  std::vector<uint64_t> ready;
  while (!waiting_.empty()) {
    const kv::DiskTier::Loaded loaded = tier_->take_loaded();
    bool goes_on = !loaded.done;
    for (const kv::DiskStore::Found& found : loaded.pages) {
      if (!take(found)) {
        stop_loading();
        goes_on = false;
        break;
      }
    }
    if (states_) {
      kv::DiskTier::Loaded state = states_->take_loaded();
      if (!state.pages.empty()) state_ = std::move(state.pages.front());
      goes_on |= !state.done;
    }
    if (goes_on || !finish_front(&ready)) break;
  }
  try {
    hand_on(kPagesAStep);
  } catch (const std::bad_alloc&) {
    // A page less on disk; nobody has asked for it.
  }
  return ready;
}

// The front one has all it can have. False: the next one is being loaded.
bool Offload::finish_front(std::vector<uint64_t>* ready) {
  take_state();
  lease_.reset();
  if (waiting_.front().request != 0) ready->push_back(waiting_.front().request);
  waiting_.pop_front();
  while (!waiting_.empty()) {
    const uint64_t next = waiting_.front().request;
    if (start_front()) return false;
    ready->push_back(next);
  }
  return true;
}

// A page as if it had been computed. False: memory is too short for it.
bool Offload::take(const kv::DiskStore::Found& found) {
  if (!lease_) return false;
  const size_t index = known_.size() / kv::kPageTokens;
  known_.insert(known_.end(), found.name.tokens.begin(), found.name.tokens.end());
  const auto n_tokens = static_cast<uint32_t>(known_.size());
  if (lease_->n_cached() > n_tokens || !lease_->extend(n_tokens, /*computes=*/false)) return false;
  backend_->write_page(lease_->pages()[index], found.bytes);
  lease_->commit(known_, kv::Origin::kDisk);
  return true;
}

// The state behind all that has come, if all has.
void Offload::take_state() {
  const std::optional<kv::DiskStore::Found> found = std::exchange(state_, std::nullopt);
  if (!found || !lease_ || known_.size() != n_loading_) return;
  const kv::StateSlot slot = lease_->add_state(static_cast<uint32_t>(n_loading_));
  if (slot != kv::kNoSlot) backend_->write_state(slot, found->bytes);
}

void Offload::stop_loading() {
  tier_->stop_loading();
  if (states_) states_->stop_loading();
  state_.reset();
}

void Offload::hand_on_state() {
  if (!can_hand_on_state()) return;
  const auto state = cache_->next_whole_state();
  if (!state || states_->knows(state->page.key) || !tier_->knows(state->page.key)) return;
  kv::PageName name{state->page.parent, state->page.key, {}};
  std::ranges::copy(state->page.tokens, name.tokens.begin());
  std::vector<uint8_t> bytes(backend_->state_bytes());
  backend_->read_state(state->slot, bytes);
  states_->store(name, std::move(bytes));
}

void Offload::hand_on(size_t n_max) {
  hand_on_state();
  for (size_t i = 0; i < n_max && cache_->n_listed_whole_pages() > 0 && tier_->can_store(); ++i) {
    const auto page = cache_->next_whole_page();
    if (!page) return;
    if (tier_->knows(page->key) || fills_hole_before(*page)) continue;
    kv::PageName name{page->parent, page->key, {}};
    std::ranges::copy(page->tokens, name.tokens.begin());
    std::vector<uint8_t> bytes(backend_->page_bytes());
    backend_->read_page(page->page, bytes);
    tier_->store(name, std::move(bytes));
  }
}

// What is missing on disk before the page (a write failed, or it was evicted) goes down first, if
// it is still in memory; without it the page would never be found. False: nothing is missing.
bool Offload::fills_hole_before(const kv::Cache::WholePage& page) {
  if (tier_->knows(page.parent)) return false;
  std::vector<kv::Cache::WholePage> missing = {page};
  while (!tier_->knows(missing.back().parent)) {
    const auto before = cache_->whole_page(missing.back().parent);
    if (!before) return true;
    missing.push_back(*before);
  }
  for (const kv::Cache::WholePage& next : missing) cache_->list_next(next);
  return true;
}

void Offload::drain(std::chrono::steady_clock::time_point until) {
  while (cache_->n_listed_whole_pages() > 0 && tier_->stats().writes &&
         std::chrono::steady_clock::now() < until) {
    hand_on(cache_->n_listed_whole_pages());
    tier_->drain(until);
  }
  tier_->drain(until);
  while (states_ && cache_->n_listed_whole_states() > 0 && states_->stats().writes &&
         std::chrono::steady_clock::now() < until) {
    hand_on_state();
    states_->drain(until);
  }
}

}  // namespace tempo9::engine
