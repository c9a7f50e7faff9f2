#include "server/response_store.h"

#include <algorithm>
#include <utility>

namespace tempo9::server {

size_t ResponseStore::bytes_of(const StoredResponse& response) {
  constexpr size_t kPerEntry = 512;  // the maps' nodes and the strings' heads
  size_t n = kPerEntry + response.response.size() + response.items.size();
  for (const auto& sizes : response.deltas) n += 32 + sizes.size() * sizeof(sizes[0]);
  n += response.keep_alives.size() * sizeof(uint64_t);
  for (const std::string& id : response.item_ids) n += kPerEntry + 2 * id.size();
  return n;
}

void ResponseStore::put(const std::string& id, StoredResponse response) {
  const size_t n = bytes_of(response);
  if (n > max_bytes_) return;
  const std::lock_guard lock(mutex_);
  remove(id);
  while (!order_.empty() && (n_bytes_ + n > max_bytes_ || by_id_.size() >= max_count_))
    remove(std::string(order_.front()));
  for (const std::string& item : response.item_ids) by_item_[item] = id;
  by_id_.emplace(id, std::make_shared<const StoredResponse>(std::move(response)));
  order_.push_back(id);
  n_bytes_ += n;
}

std::shared_ptr<const StoredResponse> ResponseStore::get(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::shared_ptr<const StoredResponse> ResponseStore::find_item(const std::string& item_id) const {
  const std::lock_guard lock(mutex_);
  const auto item = by_item_.find(item_id);
  if (item == by_item_.end()) return nullptr;
  const auto found = by_id_.find(item->second);
  return found == by_id_.end() ? nullptr : found->second;
}

bool ResponseStore::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return remove(id);
}

size_t ResponseStore::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

bool ResponseStore::remove(const std::string& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  for (const std::string& item : found->second->item_ids) {
    const auto entry = by_item_.find(item);
    if (entry != by_item_.end() && entry->second == id) by_item_.erase(entry);
  }
  n_bytes_ -= bytes_of(*found->second);
  by_id_.erase(found);
  order_.erase(std::find(order_.begin(), order_.end(), id));
  return true;
}

}  // namespace tempo9::server
