// A DiskStore on a thread of its own: the engine never waits for the disk. Pages go down while
// there is room in the queue, and come up in order, a few at a time.
//
// A page is written only behind one that is there: behind a hole (a write that failed, a page that
// was evicted meanwhile) nobody would ever find it. States of recurrent layers are named like the
// pages that they stand behind and kept in a tier of their own, where they do not form a chain.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "kv/tiers/disk_store.h"

namespace tempo9::kv {

struct DiskTierStats {
  uint64_t n_pages = 0;  // on disk, of this model
  uint64_t n_stored = 0, n_loaded = 0, n_damaged = 0;
  bool writes = true;  // false: the disk is full or not to be written; what is there is still read
};

// Threads: all calls from one (the engine's), but for stats().
class DiskTier {
 public:
  // log: told once of each kind of trouble. retry_time: after a write that failed.
  DiskTier(std::unique_ptr<DiskStore> store, uint64_t page_bytes,
           std::function<void(const std::string&)> log,
           std::chrono::nanoseconds retry_time = std::chrono::minutes(1), bool is_chain = true);
  ~DiskTier();  // what has not been written is lost: drain() first
  // changed: called on the disk's thread when there are results, or room in the queue again.
  void set_changed(std::function<void()> changed);

  const HashKey& secret() const { return secret_; }

  // How many whole pages behind parent are on disk, of tokens. Never touches the disk.
  uint32_t n_known(PrefixKey parent, std::span<const TokenId> tokens) const;
  // The page is there or queued, or is the beginning of all.
  bool knows(const PrefixKey& key) const;

  // There is room in the queue for a page more.
  bool can_store() const;
  void store(const PageName& name, std::vector<uint8_t> bytes);

  // Brings the pages behind parent that hold tokens, the last of them perhaps only in part. One at
  // a time: ends what ran before. take_loaded() gives them in order.
  void load(const PrefixKey& parent, std::span<const TokenId> tokens);
  void stop_loading();
  struct Loaded {
    std::vector<DiskStore::Found> pages;
    bool done = false;  // no more will come
  };
  Loaded take_loaded();

  // Waits until all has been written, or until then. Any clock's time would do; this is the steady
  // one.
  void drain(std::chrono::steady_clock::time_point until);

  DiskTierStats stats() const;

 private:
  struct Write {
    PageName name;
    std::vector<uint8_t> bytes;
  };
  struct Load {
    PrefixKey parent;
    std::vector<TokenId> tokens;
    size_t n_done = 0;  // of tokens
    uint64_t number = 0;
  };

  void run();
  void try_write(const Write& next);
  void write(const Write& write);
  bool try_load_next(Load* load);
  bool load_next(Load* load);
  void report(const Error& error);
  void forget_removed();

  std::unique_ptr<DiskStore> store_;  // the thread's
  const HashKey secret_;
  const uint64_t page_bytes_;
  const std::chrono::nanoseconds retry_time_;
  const bool is_chain_;
  std::function<void(const std::string&)> log_;
  std::vector<std::string> reported_;  // the thread's: kinds of trouble that were told

  mutable std::mutex mutex_;
  std::condition_variable wake_;     // the thread
  std::condition_variable written_;  // drain()
  std::function<void()> changed_;    // guarded by mutex_, as is all below
  std::unordered_set<PrefixKey, PrefixKeyHash> keys_;
  std::deque<Write> writes_;
  std::unordered_set<PrefixKey, PrefixKeyHash> queued_;  // of writes_ and of the one being written
  bool is_writing_ = false;
  std::optional<Load> load_;  // waiting to begin
  uint64_t load_number_ = 0;  // of the newest; older ones end
  std::vector<DiskStore::Found> loaded_;
  bool load_done_ = true;
  bool stopping_ = false;
  DiskTierStats stats_;
  std::chrono::steady_clock::time_point retry_;  // after a failure to write
  std::jthread thread_;
};

}  // namespace tempo9::kv
