// For tests: stands for the KV arena. Each position holds a hash of all tokens up to it, as real KV
// does in effect, so a page that was mixed up, overwritten or copied too short shows as a wrong
// hash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "kv/cache.h"

namespace tempo9::kv::testing {

class FakeArena final : public PageCopier {
 public:
  explicit FakeArena(uint32_t n_pages) : cells_(size_t{n_pages} * kPageTokens, 0) {}

  static uint64_t step(uint64_t hash, TokenId token) {
    return (hash ^ static_cast<uint64_t>(token + 1)) * 0x9E3779B97F4A7C15u + 1;
  }
  uint64_t& cell(std::span<const PageId> pages, size_t position) {
    return cells_[size_t{pages[position / kPageTokens]} * kPageTokens + position % kPageTokens];
  }

  // Computes tokens at [n_past, n_past + tokens.size()) from what the arena holds before them. The
  // last hash.
  uint64_t compute(std::span<const PageId> pages, size_t n_past, std::span<const TokenId> tokens) {
    uint64_t hash = n_past == 0 ? 0 : cell(pages, n_past - 1);
    for (size_t i = 0; i < tokens.size(); ++i) {
      hash = step(hash, tokens[i]);
      cell(pages, n_past + i) = hash;
    }
    return hash;
  }
  // Whether the first n positions hold what computing them would give.
  bool holds(std::span<const PageId> pages, std::span<const TokenId> tokens, size_t n) {
    uint64_t hash = 0;
    for (size_t i = 0; i < n; ++i) {
      hash = step(hash, tokens[i]);
      if (cell(pages, i) != hash) {
        return false;
      }
    }
    return true;
  }

  void copy_page(PageId from, PageId to, uint32_t n_tokens) override {
    T9_CHECK(from != to && n_tokens <= kPageTokens);
    ++n_copies;
    std::copy_n(&cells_[size_t{from} * kPageTokens], n_tokens, &cells_[size_t{to} * kPageTokens]);
  }
  void drop_page(PageId page) override {
    ++n_drops;
    std::fill_n(&cells_[size_t{page} * kPageTokens], kPageTokens, 0);
  }
  static constexpr size_t kPageBytes = kPageTokens * sizeof(uint64_t);
  void read_page(PageId page, std::span<uint8_t> out) const {
    std::memcpy(out.data(), &cells_[size_t{page} * kPageTokens], kPageBytes);
  }
  void write_page(PageId page, std::span<const uint8_t> bytes) {
    std::memcpy(&cells_[size_t{page} * kPageTokens], bytes.data(), kPageBytes);
  }
  int n_copies = 0;
  int n_drops = 0;

 private:
  std::vector<uint64_t> cells_;
};

}  // namespace tempo9::kv::testing
