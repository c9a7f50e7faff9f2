#include "kv/tiers/disk_tier.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace tempo9::kv {
namespace {

// Bytes that wait to be written, and that wait to be taken.
constexpr uint64_t kWriteQueueBytes = uint64_t{16} << 20;
constexpr uint64_t kLoadedBytes = uint64_t{16} << 20;
// A page of which fewer tokens than this are wanted is not worth the reading.
constexpr uint32_t kWorthLoading = 4;

}  // namespace

DiskTier::DiskTier(std::unique_ptr<DiskStore> store, uint64_t page_bytes,
                   std::function<void(const std::string&)> log, std::chrono::nanoseconds retry_time,
                   bool is_chain)
    : store_(std::move(store)),
      secret_(store_->secret()),
      page_bytes_(page_bytes),
      retry_time_(retry_time),
      is_chain_(is_chain),
      log_(std::move(log)) {
  if (auto keys = store_->keys()) {
    keys_.insert(keys->begin(), keys->end());
  } else {
    report(keys.error());
  }
  stats_.n_pages = keys_.size();
  thread_ = std::jthread([this] { run(); });
}

DiskTier::~DiskTier() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_ = nullptr;
  }
  wake_.notify_all();
}

void DiskTier::set_changed(std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
}

bool DiskTier::knows(const PrefixKey& key) const {
  const std::lock_guard lock(mutex_);
  return key == PrefixKey{} || keys_.contains(key) || queued_.contains(key);
}

uint32_t DiskTier::n_known(PrefixKey parent, std::span<const TokenId> tokens) const {
  const std::lock_guard lock(mutex_);
  uint32_t n = 0;
  if (keys_.empty()) return n;
  while (tokens.size() >= (n + 1) * size_t{kPageTokens}) {
    parent = extend_key(secret_, parent, tokens.subspan(size_t{n} * kPageTokens, kPageTokens));
    if (!keys_.contains(parent)) break;
    ++n;
  }
  return n;
}

bool DiskTier::can_store() const {
  const std::lock_guard lock(mutex_);
  return (stats_.writes || std::chrono::steady_clock::now() >= retry_) &&
         (writes_.empty() || (writes_.size() + 1) * page_bytes_ <= kWriteQueueBytes);
}

void DiskTier::store(const PageName& name, std::vector<uint8_t> bytes) {
  {
    const std::lock_guard lock(mutex_);
    struct Undo {  // when there is no memory for the second
      ~Undo() {
        if (writes != nullptr) writes->pop_back();
      }
      std::deque<Write>* writes = nullptr;
    } undo;
    writes_.push_back({name, std::move(bytes)});
    undo.writes = &writes_;
    queued_.insert(name.key);
    undo.writes = nullptr;
  }
  wake_.notify_all();
}

void DiskTier::load(const PrefixKey& parent, std::span<const TokenId> tokens) {
  {
    const std::lock_guard lock(mutex_);
    load_ = Load{parent, {tokens.begin(), tokens.end()}, 0, ++load_number_};
    loaded_.clear();
    load_done_ = false;
  }
  wake_.notify_all();
}

void DiskTier::stop_loading() {
  const std::lock_guard lock(mutex_);
  load_.reset();
  ++load_number_;
  loaded_.clear();
  load_done_ = true;
}

DiskTier::Loaded DiskTier::take_loaded() {
  Loaded loaded;
  {
    const std::lock_guard lock(mutex_);
    loaded.pages.swap(loaded_);
    loaded.done = load_done_;
  }
  wake_.notify_all();  // it may have waited for room
  return loaded;
}

void DiskTier::drain(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  written_.wait_until(lock, until, [this] { return writes_.empty() && !is_writing_; });
}

DiskTierStats DiskTier::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

// Loading goes first: somebody waits for it.
void DiskTier::run() {
  std::unique_lock lock(mutex_);
  std::optional<Load> loading;
  for (;;) {
    if (load_) loading = std::exchange(load_, std::nullopt);
    if (loading && loading->number != load_number_) loading.reset();
    const bool has_room = loaded_.size() * page_bytes_ < kLoadedBytes;
    if (stopping_) return;
    if (loading && has_room) {
      lock.unlock();
      const bool goes_on = try_load_next(&*loading);
      lock.lock();
      if (!goes_on) loading.reset();
    } else if (!writes_.empty()) {
      const Write next = std::move(writes_.front());
      writes_.pop_front();
      is_writing_ = true;
      lock.unlock();
      try_write(next);
      lock.lock();
      is_writing_ = false;
      if (writes_.empty()) written_.notify_all();
      if (changed_) changed_();
    } else {
      wake_.wait(lock);
    }
  }
}

// What finds no memory is done without, like what finds no room on disk.
void DiskTier::try_write(const Write& next) {
  try {
    write(next);
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex_);
    queued_.erase(next.name.key);
  }
}

bool DiskTier::try_load_next(Load* load) {
  try {
    return load_next(load);
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex_);
    if (load->number != load_number_) return false;
    load_done_ = true;
    if (changed_) changed_();
    return false;
  }
}

void DiskTier::write(const Write& write) {
  {
    const std::lock_guard lock(mutex_);
    const PrefixKey& parent = write.name.parent;
    if (is_chain_ && parent != PrefixKey{} && !keys_.contains(parent)) {
      queued_.erase(write.name.key);
      return;
    }
  }
  const Status stored = store_->put(write.name, write.bytes);
  forget_removed();
  if (!stored) report(stored.error());
  const std::lock_guard lock(mutex_);
  stats_.writes = stored.has_value();
  if (stored) {
    queued_.erase(write.name.key);
    keys_.insert(write.name.key);
    ++stats_.n_stored;
    stats_.n_pages = keys_.size();
  } else {
    // What is queued would fail like this one.
    writes_.clear();
    queued_.clear();
    retry_ = std::chrono::steady_clock::now() + retry_time_;
  }
}

// The next page of a load. False: that was the last.
bool DiskTier::load_next(Load* load) {
  const auto rest = std::span(load->tokens).subspan(load->n_done);
  const std::span<const TokenId> tokens = rest.first(std::min<size_t>(rest.size(), kPageTokens));
  std::optional<DiskStore::Found> found;
  bool is_known_gone = false;
  if (tokens.size() >= kWorthLoading) {
    auto result = store_->find(load->parent, tokens, kWorthLoading);
    if (result) {
      found = *std::move(result);
      is_known_gone = !found && tokens.size() == kPageTokens;
    } else {
      report(result.error());
    }
  }
  forget_removed();
  const bool whole = found && std::ranges::equal(found->name.tokens, tokens);
  const PrefixKey parent = load->parent;
  if (whole) {
    load->parent = found->name.key;
    load->n_done += kPageTokens;
  }
  const std::lock_guard lock(mutex_);
  if (load->number != load_number_) return false;
  if (found) {
    loaded_.push_back(*std::move(found));
    ++stats_.n_loaded;
  } else if (is_known_gone) {
    keys_.erase(extend_key(secret_, parent, tokens));  // another process removed it
    stats_.n_pages = keys_.size();
  }
  load_done_ = !whole;
  if (changed_) changed_();
  return whole;
}

void DiskTier::forget_removed() {
  const std::vector<PrefixKey> removed = store_->take_removed();
  const uint64_t n_damaged = store_->n_damaged();
  {
    const std::lock_guard lock(mutex_);
    for (const PrefixKey& key : removed) keys_.erase(key);
    stats_.n_pages = keys_.size();
    if (stats_.n_damaged == n_damaged) return;
    stats_.n_damaged = n_damaged;
  }
  report(make_error(ErrorCode::kCorrupt,
                    "the KV cache on disk held a damaged page; it was removed, and its tokens are "
                    "computed again"));
}

void DiskTier::report(const Error& error) {
  if (std::ranges::find(reported_, error.message) != reported_.end()) return;
  reported_.push_back(error.message);
  if (!log_) return;
  log_(error.code == ErrorCode::kCorrupt
           ? error.message
           : fmt::format("the KV cache on disk takes no more pages: {}", error.message));
}

}  // namespace tempo9::kv
