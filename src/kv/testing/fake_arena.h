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
  static auto* of(auto& cells, PageId page) { return &cells[size_t{page} * kPageTokens]; }

 public:
  explicit FakeArena(uint32_t n_pages, std::vector<PageClass> classes = {PageClass{}},
                     uint32_t n_states = 0)
      : classes_(std::move(classes)),
        cells_(classes_.size(), std::vector<uint64_t>(size_t{n_pages} * kPageTokens, 0)),
        states_(n_states, 0) {}

  static uint64_t step(uint64_t hash, TokenId token) {
    return (hash ^ static_cast<uint64_t>(token + 1)) * 0x9E3779B97F4A7C15u + 1;
  }
  uint64_t& cell(std::span<const PageId> pages, size_t position, size_t page_class = 0) {
    return cells_[page_class]
                 [size_t{pages[position / kPageTokens]} * kPageTokens + position % kPageTokens];
  }

  // Computes tokens at [n_past, n_past + tokens.size()) from what the arena holds before them. The
  // last hash. What windows see must be there in all classes alike. With recurrent layers: a state
  // is the hash behind its token.
  uint64_t compute(std::span<const PageId> pages, size_t n_past, std::span<const TokenId> tokens,
                   StateSlot state_in = kNoSlot, std::span<const StateOut> states_out = {}) {
    if (!states_.empty()) {
      T9_CHECK(!states_out.empty() && states_out.back().row + 1 == tokens.size());
      T9_CHECK((n_past == 0) == (state_in == kNoSlot));
      T9_CHECK(n_past == 0 || states_[state_in] == cell(pages, n_past - 1));
    }
    for (size_t c = 0; c < classes_.size(); ++c) {
      const size_t window = classes_[c].window;
      const size_t begin = n_past + 1 > window ? n_past + 1 - window : 0;
      for (size_t i = window > 0 ? begin : n_past; i < n_past; ++i) {
        T9_CHECK(cell(pages, i, c) != 0 && cell(pages, i, c) == cell(pages, i));
      }
    }
    uint64_t hash = n_past == 0 ? 0 : cell(pages, n_past - 1);
    for (size_t i = 0; i < tokens.size(); ++i) {
      hash = step(hash, tokens[i]);
      for (size_t c = 0; c < classes_.size(); ++c) cell(pages, n_past + i, c) = hash;
      for (const StateOut& out : states_out)
        if (out.row == i) states_[out.slot] = hash;
    }
    return hash;
  }
  // Whether the first n positions hold what computing them would give, as far as the first class
  // sees them.
  bool holds(std::span<const PageId> pages, std::span<const TokenId> tokens, size_t n) {
    uint64_t hash = 0;
    const size_t window = classes_[0].window;
    for (size_t i = 0; i < n; ++i) {
      hash = step(hash, tokens[i]);
      const bool is_seen = window == 0 || n - i < window;
      if (is_seen && cell(pages, i) != hash) {
        return false;
      }
    }
    return true;
  }

  void copy_page(PageId from, PageId to, uint32_t n_tokens) override {
    T9_CHECK(from != to && n_tokens <= kPageTokens);
    ++n_copies;
    for (auto& cells : cells_) std::copy_n(of(cells, from), n_tokens, of(cells, to));
  }
  void copy_part(PageId from, PageId to, size_t page_class) override {
    std::copy_n(of(cells_[page_class], from), kPageTokens, of(cells_[page_class], to));
  }
  void drop_part(PageId page, size_t page_class) override {
    ++n_drops;
    std::fill_n(of(cells_[page_class], page), kPageTokens, 0);
  }
  void drop_state(StateSlot slot) override { states_[slot] = 0; }
  static constexpr size_t kStateBytes = 256;  // as a disk keeps it: the hash, and zeros
  void read_state(StateSlot slot, std::span<uint8_t> out) const {
    std::ranges::fill(out, uint8_t{0});
    std::memcpy(out.data(), &states_[slot], sizeof states_[slot]);
  }
  void write_state(StateSlot slot, std::span<const uint8_t> bytes) {
    std::memcpy(&states_[slot], bytes.data(), sizeof states_[slot]);
  }
  static constexpr size_t kPageBytes = kPageTokens * sizeof(uint64_t);  // of a part
  void read_page(PageId page, std::span<uint8_t> out) const {
    for (size_t c = 0; c < cells_.size(); ++c)
      std::memcpy(&out[c * kPageBytes], of(cells_[c], page), kPageBytes);
  }
  void write_page(PageId page, std::span<const uint8_t> bytes) {
    for (size_t c = 0; c < cells_.size(); ++c)
      std::memcpy(of(cells_[c], page), &bytes[c * kPageBytes], kPageBytes);
  }
  int n_copies = 0;
  int n_drops = 0;

 private:
  std::vector<PageClass> classes_;
  std::vector<std::vector<uint64_t>> cells_;  // by class
  std::vector<uint64_t> states_;              // by slot
};

}  // namespace tempo9::kv::testing
