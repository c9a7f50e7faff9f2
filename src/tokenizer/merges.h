// Byte-pair merging: which neighbours become one token, and in which order.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/hash.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

struct Merge {
  uint32_t rank;  // lower goes first
  TokenId merged;
};

// The merges of a vocabulary. Filled at load, then immutable.
class MergeTable {
 public:
  void reserve(size_t n) {
    merges_.reserve(n);
    maybe_.assign(std::bit_ceil(n / 4 + 1), 0);
  }
  // The first merge of a pair stays. Requires: left, right >= 0, and no more merges than reserved.
  void add(TokenId left, TokenId right, Merge merge) {
    merges_.insert(key(left, right), merge);
    const uint64_t h = mix(key(left, right));
    maybe_[word_of(h)] |= bit(h);
  }
  const Merge* find(TokenId left, TokenId right) const {
    const uint64_t h = mix(key(left, right));
    if ((maybe_[word_of(h)] & bit(h)) == 0) return nullptr;
    return merges_.find(key(left, right));
  }

 private:
  static uint64_t key(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t word_of(uint64_t h) const { return (h >> 32) & (maybe_.size() - 1); }
  static uint64_t bit(uint64_t h) { return uint64_t{1} << (h & 63); }

  IntegerMap<Merge> merges_;
  // A bit for each pair, 16 times as many as pairs: most neighbours have no merge, and this much
  // stays in the second-level cache where the map does not.
  std::vector<uint64_t> maybe_ = {0};
};

// Working memory of one encode call.
class Merger {
 public:
  explicit Merger(const MergeTable& table) : table_(table) {}

  // Merges symbols in place until no neighbours have a merge: always the lowest rank, among equals
  // the leftmost. Time: n log n at worst, and nearly linear for one long run.
  void merge(std::vector<TokenId>* symbols);

 private:
  void merge_short(std::vector<TokenId>* symbols);
  void merge_long(std::vector<TokenId>* symbols);
  void link(uint32_t position);
  void merge_at(uint32_t position, TokenId merged);

  static constexpr uint32_t kNoRank = UINT32_MAX;
  static constexpr uint32_t kNoPosition = UINT32_MAX;

  // Positions where one pair stands, or stood when they were put in: they are checked when taken
  // out. They come out in ascending order: a plain queue while what goes in is ascending, from then
  // on a heap.
  struct Queue {
    TokenId left = 0, right = 0;
    Merge merge = {};
    bool waiting = false;  // in waiting_
    bool heap = false;
    size_t next = 0;  // queue only: positions before it are used up
    std::vector<uint32_t> positions = {};
    bool empty() const { return next == positions.size(); }
    void push(uint32_t position);
    uint32_t pop();
    void clear();  // gives its memory back, too
  };
  struct Node {
    TokenId symbol;  // -1: merged into one to the left
    uint32_t previous, next;
  };

  uint32_t queue_of(TokenId left, TokenId right, Merge merge);
  void grow_queue_index();

  const MergeTable& table_;
  std::vector<Node> nodes_;
  std::vector<Queue> queues_;
  std::vector<uint32_t>
      queue_index_;                // open addressing over rank: number of the queue + 1, 0 if empty
  std::vector<uint64_t> waiting_;  // heap of rank << 32 | queue
  bool interrupted_ = false;
  uint32_t current_rank_ = 0;
};

}  // namespace tempo9::tokenizer
