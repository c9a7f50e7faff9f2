// Replies of /v1/responses that a later request may go on from, by id. In memory, bounded; the
// oldest go first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tempo9::server {

struct StoredResponse {
  std::string response;               // JSON object, as it was sent
  std::string items;                  // JSON array: all that the model saw but the instructions
  std::vector<std::string> item_ids;  // of items and output: what item_reference may name
  // How it was streamed: of each output item the bytes of its deltas, and the numbers of the events
  // that only said that it is alive.
  std::vector<std::vector<uint32_t>> deltas = {};
  std::vector<uint64_t> keep_alives = {};
};

// Any thread.
class ResponseStore {
 public:
  static constexpr size_t kMaxBytes = 64 << 20;
  static constexpr size_t kMaxCount = 1000;

  explicit ResponseStore(size_t max_bytes = kMaxBytes, size_t max_count = kMaxCount)
      : max_bytes_(max_bytes), max_count_(max_count) {}

  // One that is larger than the whole store is not kept. An id comes once.
  void put(const std::string& id, StoredResponse response);
  std::shared_ptr<const StoredResponse> get(const std::string& id) const;  // null: not there
  std::shared_ptr<const StoredResponse> find_item(const std::string& item_id) const;
  bool erase(const std::string& id);

  size_t n_bytes() const;

 private:
  static size_t bytes_of(const StoredResponse& response);
  bool remove(const std::string& id);  // mutex_ is held

  const size_t max_bytes_, max_count_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const StoredResponse>> by_id_;  // mutex_
  std::unordered_map<std::string, std::string> by_item_;  // mutex_: item id to the newest response
  std::deque<std::string> order_;                         // mutex_: oldest first; erased ids leave
  size_t n_bytes_ = 0;                                    // mutex_
};

}  // namespace tempo9::server
