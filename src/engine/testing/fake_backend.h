// For tests: a backend whose logits are a function of the tokens before them, read from paged cells
// as a model reads its KV. What mixes up pages, positions or sequences changes the logits.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "kv/testing/fake_arena.h"
#include "ops/backend.h"
#include "sampling/philox.h"

namespace tempo9::engine::testing {

// The logits after a history with this hash.
inline void fake_logits(uint64_t hash, uint32_t n_vocab, float* out) {
  for (uint32_t i = 0; i < n_vocab; i += 4) {
    const auto block = sampling::philox4x32(
        {i, static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), 0}, {1, 2});
    for (uint32_t k = 0; k < 4 && i + k < n_vocab; ++k) {
      out[i + k] = static_cast<float>(block[k] >> 8) * 0x1p-24f * 12.0f - 6.0f;
    }
  }
}

class FakeBackend final : public ops::Backend {
 public:
  static constexpr uint32_t kStateWidth = 8;  // a hidden state is the first logits

  // n_states above 0: its layers are recurrent.
  FakeBackend(uint32_t n_pages, uint32_t vocab_size, uint32_t n_states = 0)
      : arena_(n_pages, {kv::PageClass{}}, n_states),
        n_vocab_(vocab_size),
        state_bytes_(n_states > 0 ? kv::testing::FakeArena::kStateBytes : 0) {}

  Result<std::span<const float>> step(const ops::Batch& batch) override {
    while (hangs && !interrupted) interrupted.wait(false);
    if (interrupted) return make_error(ErrorCode::kCancelled, "interrupted");
    if (++n_steps == fail_at_step) {
      return make_error(ErrorCode::kInternal, "the fake backend fails");
    }
    logits_.assign(batch.logit_rows.size() * n_vocab_, 0.0f);
    states_.assign(batch.state_rows.size() * kStateWidth, 0.0f);
    size_t next_row = 0, next_logit = 0, next_state = 0;
    for (const ops::BatchSequence& s : batch.sequences) {
      T9_CHECK(s.first_row == next_row);
      next_row += s.n_rows;
      std::vector<kv::StateOut> outs;
      for (const ops::StateOut& out : s.states_out) outs.push_back({out.row, out.slot});
      const auto tokens = batch.tokens.subspan(s.first_row, s.n_rows);
      arena_.compute(s.pages, s.n_past, tokens, s.state_in, outs);
      for (uint32_t r = 0; r < s.n_rows; ++r) {
        const uint64_t hash = arena_.cell(s.pages, s.n_past + r);
        if (next_logit < batch.logit_rows.size() &&
            batch.logit_rows[next_logit] == s.first_row + r) {
          fake_logits(hash, n_vocab_, &logits_[next_logit++ * n_vocab_]);
        }
        if (next_state < batch.state_rows.size() &&
            batch.state_rows[next_state] == s.first_row + r) {
          fake_logits(hash, kStateWidth, &states_[next_state++ * kStateWidth]);
        }
      }
    }
    T9_CHECK(next_row == batch.tokens.size() && next_logit == batch.logit_rows.size() &&
             next_state == batch.state_rows.size());
    return std::span<const float>(logits_);
  }
  std::span<const float> states() const override { return states_; }
  void copy_page(ops::PageId from, ops::PageId to, uint32_t n_tokens) override {
    arena_.copy_page(from, to, n_tokens);
  }
  void copy_part(ops::PageId from, ops::PageId to, size_t page_class) override {
    arena_.copy_part(from, to, page_class);
  }
  void drop_part(ops::PageId page, size_t page_class) override {
    arena_.drop_part(page, page_class);
  }
  void read_page(ops::PageId page, std::span<uint8_t> out) const override {
    arena_.read_page(page, out);
  }
  void write_page(ops::PageId page, std::span<const uint8_t> bytes) override {
    arena_.write_page(page, bytes);
  }
  void drop_state(ops::StateSlot slot) override { arena_.drop_state(slot); }
  void read_state(ops::StateSlot slot, std::span<uint8_t> out) const override {
    arena_.read_state(slot, out);
  }
  void write_state(ops::StateSlot slot, std::span<const uint8_t> bytes) override {
    arena_.write_state(slot, bytes);
  }
  uint64_t state_bytes() const override { return state_bytes_; }
  uint64_t page_bytes() const override { return kv::testing::FakeArena::kPageBytes; }
  uint64_t weight_bytes() const override { return 1; }
  std::string_view name() const override { return "fake"; }
  std::string_view numerics() const override { return "fake-1"; }

  void interrupt() override {
    interrupted = true;
    interrupted.notify_all();
  }

  bool hangs = false;  // a step waits for interrupt()
  std::atomic<bool> interrupted{false};
  int n_steps = 0;
  int fail_at_step = -1;

 private:
  kv::testing::FakeArena arena_;
  uint32_t n_vocab_;
  uint64_t state_bytes_;
  std::vector<float> logits_, states_;
};

}  // namespace tempo9::engine::testing
