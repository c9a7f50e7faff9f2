// Between the prefix cache and the disk: whole pages go down as they become whole, and a prompt's
// pages come up before its request is scheduled. To the scheduler a page from disk is one more page
// that is known.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kv/cache.h"
#include "kv/tiers/disk_tier.h"
#include "ops/backend.h"

namespace tempo9::engine {

using RequestId = uint64_t;

// Threads: the engine's.
class Offload {
 public:
  // All must outlive it. states: a tier for states of recurrent layers; null: there are none, or
  // they are not kept, and then pages of such a model are of no use.
  Offload(kv::Cache* cache, kv::DiskTier* tier, kv::DiskTier* states, ops::Backend* backend);

  // True: pages of the prompt are on disk and will be brought; poll() says when the request can go
  // on. False: nothing to wait for.
  bool begin(uint64_t request, std::span<const kv::TokenId> prompt);
  // The request has gone. Unknown ids: nothing happens.
  void cancel(uint64_t request);

  // Takes what has come from disk and hands on what is to be written, as far as there is room.
  // Returns the requests that wait no longer, in order.
  std::vector<uint64_t> poll();
  // The memory of what is being brought is needed: the request goes on with less. False: there was
  // none.
  bool give_way();
  bool has_waiting() const { return !waiting_.empty(); }
  bool is_waiting(uint64_t request) const;
  // The cache is given up, and what was asked of it.
  void give_up();
  // Whether poll() has something to hand on that there is room for.
  bool can_hand_on() const {
    return (cache_->n_listed_whole_pages() > 0 && tier_->can_store()) || can_hand_on_state();
  }

  // Hands on all that is to be written and waits for it, until then at most.
  void drain(std::chrono::steady_clock::time_point until);

 private:
  struct Waiting {
    uint64_t request;
    std::vector<kv::TokenId> prompt;
  };

  size_t n_wanted(const kv::Lease& known, std::span<const kv::TokenId> prompt) const;
  bool start_front();
  bool take(const kv::DiskStore::Found& found);
  void take_state();
  void stop_loading();
  // States follow the pages that they stand behind, one at a time: they are large.
  bool can_hand_on_state() const {
    return states_ && cache_->n_listed_whole_pages() == 0 && cache_->n_listed_whole_states() > 0 &&
           states_->can_store();
  }
  void hand_on_state();
  bool finish_front(std::vector<uint64_t>* ready);
  void hand_on(size_t n_max);
  bool fills_hole_before(const kv::Cache::WholePage& page);

  kv::Cache* cache_;
  kv::DiskTier* tier_;
  kv::DiskTier* states_;
  ops::Backend* backend_;
  std::deque<Waiting> waiting_;                // the front one is being loaded
  std::optional<kv::Lease> lease_;             // of the front one: what is there so far, pinned
  std::vector<kv::TokenId> known_;             // whose pages the lease holds
  size_t n_loading_ = 0;                       // tokens that it will hold when all has come
  std::optional<kv::DiskStore::Found> state_;  // behind them
};

}  // namespace tempo9::engine
