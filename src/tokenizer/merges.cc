#include "tokenizer/merges.h"

#include <algorithm>
#include <functional>

namespace tempo9::tokenizer {
namespace {

// Below this a scan for the lowest rank is faster than any queue.
constexpr size_t kShort = 48;

}  // namespace

void Merger::merge(std::vector<TokenId>* symbols) {
  if (symbols->size() < 2) return;
  if (symbols->size() <= kShort) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
}

void Merger::merge_short(std::vector<TokenId>* symbols) {
  TokenId* s = symbols->data();
  size_t n = symbols->size();
  uint32_t ranks[kShort];
  TokenId merged[kShort];
  const auto look_up = [&](size_t i) {
    const Merge* m = table_.find(s[i], s[i + 1]);
    ranks[i] = m == nullptr ? kNoRank : m->rank;
    merged[i] = m == nullptr ? -1 : m->merged;
  };
  for (size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNoRank) break;
    s[best] = merged[best];
    for (size_t i = best + 1; i + 1 < n; ++i) {
      s[i] = s[i + 1];
      ranks[i] = ranks[i + 1];
      merged[i] = merged[i + 1];
    }
    --n;
    if (best + 1 < n) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols->resize(n);
}

void Merger::grow_queue_index() {
  queue_index_.assign(std::max<size_t>(64, queue_index_.size() * 2), 0);
  for (uint32_t q = 0; q < queues_.size(); ++q) {
    size_t i = mix(queues_[q].merge.rank) & (queue_index_.size() - 1);
    while (queue_index_[i] != 0) i = (i + 1) & (queue_index_.size() - 1);
    queue_index_[i] = q + 1;
  }
}

// Number of the queue for this merge, made if there is none.
uint32_t Merger::queue_of(TokenId left, TokenId right, Merge merge) {
  if (queues_.size() * 2 >= queue_index_.size()) grow_queue_index();
  const size_t mask = queue_index_.size() - 1;
  size_t i = mix(merge.rank) & mask;
  for (; queue_index_[i] != 0; i = (i + 1) & mask) {
    if (queues_[queue_index_[i] - 1].merge.rank == merge.rank) return queue_index_[i] - 1;
  }
  queues_.push_back(Queue{.left = left, .right = right, .merge = merge});
  queue_index_[i] = static_cast<uint32_t>(queues_.size());
  return queue_index_[i] - 1;
}

void Merger::Queue::push(uint32_t position) {
  if (!heap && !empty() && positions.back() > position) {
    positions.erase(positions.begin(), positions.begin() + static_cast<ptrdiff_t>(next));
    next = 0;
    std::make_heap(positions.begin(), positions.end(), std::greater<>());
    heap = true;
  }
  positions.push_back(position);
  if (heap) std::push_heap(positions.begin(), positions.end(), std::greater<>());
}

uint32_t Merger::Queue::pop() {
  if (!heap) return positions[next++];
  std::pop_heap(positions.begin(), positions.end(), std::greater<>());
  const uint32_t position = positions.back();
  positions.pop_back();
  return position;
}

void Merger::Queue::clear() {
  waiting = heap = false;
  next = 0;
  positions = {};
}

// Looks up the pair that starts at position and queues it.
void Merger::link(uint32_t position) {
  const Node& node = nodes_[position];
  if (node.next == kNoPosition) return;
  const TokenId right = nodes_[node.next].symbol;
  const Merge* m = table_.find(node.symbol, right);
  if (m == nullptr) return;
  const uint32_t number = queue_of(node.symbol, right, *m);
  Queue& queue = queues_[number];
  queue.push(position);
  if (!queue.waiting) {
    queue.waiting = true;
    waiting_.push_back(static_cast<uint64_t>(m->rank) << 32 | number);
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  }
  if (m->rank < current_rank_) interrupted_ = true;
}

void Merger::merge_at(uint32_t position, TokenId merged) {
  Node& node = nodes_[position];
  const uint32_t right = node.next;
  node.symbol = merged;
  node.next = nodes_[right].next;
  nodes_[right].symbol = -1;
  if (node.next != kNoPosition) nodes_[node.next].previous = position;
  // Left first, so that positions go into a queue in ascending order.
  if (node.previous != kNoPosition) link(node.previous);
  link(position);
}

// One queue per kind of pair instead of one heap of all pairs: a text has few kinds, and the
// positions of one come nearly sorted. A merge may make a pair of a lower rank than the one being
// worked on; that one goes first.
void Merger::merge_long(std::vector<TokenId>* symbols) {
  const auto n = static_cast<uint32_t>(symbols->size());
  nodes_.resize(n);
  queues_.clear();
  queue_index_.clear();
  waiting_.clear();
  current_rank_ = 0;
  for (uint32_t i = 0; i < n; ++i) {
    nodes_[i] = {(*symbols)[i], i == 0 ? kNoPosition : i - 1, i + 1 == n ? kNoPosition : i + 1};
  }
  for (uint32_t i = 0; i + 1 < n; ++i) link(i);

  while (!waiting_.empty()) {
    const uint64_t entry = waiting_.front();
    const auto q = static_cast<uint32_t>(entry);
    const TokenId left = queues_[q].left, right = queues_[q].right,
                  merged = queues_[q].merge.merged;
    current_rank_ = queues_[q].merge.rank;
    interrupted_ = false;
    // A merge queues no pair of its own kind: what it makes is longer than what this one merges.
    // (It may make new queues, so no reference into queues_ is held over it.)
    while (!interrupted_ && !queues_[q].empty()) {
      const uint32_t position = queues_[q].pop();
      const Node& node = nodes_[position];
      if (node.symbol != left || node.next == kNoPosition || nodes_[node.next].symbol != right)
        continue;
      merge_at(position, merged);
    }
    // Interrupted by a lower rank, the entry is not in front any more: it stays, and its turn comes
    // again.
    if (waiting_.front() == entry) {
      queues_[q].clear();
      std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      waiting_.pop_back();
    }
  }

  size_t out = 0;
  for (uint32_t i = 0; i != kNoPosition; i = nodes_[i].next) (*symbols)[out++] = nodes_[i].symbol;
  symbols->resize(out);
}

}  // namespace tempo9::tokenizer
