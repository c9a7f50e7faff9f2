// Script mode: replies come from a script in place of a model.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/executor.h"
#include "engine/script.h"
#include "kv/cache.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

// There are no pages behind a script's page numbers.
class NoCopier final : public kv::PageCopier {
 public:
  void copy_page(kv::PageId, kv::PageId, uint32_t) override {}
  void drop_state(kv::StateSlot) override {}
  void copy_part(kv::PageId, kv::PageId, size_t) override {}
  void drop_part(kv::PageId, size_t) override {}
};

// Which line plays is settled when a request arrives: the first unused one whose `when` fits, else
// the last fitting one, else an echo. Times are due dates against the clock: nothing here sleeps,
// and requests wait side by side. What a script says is certain: its logprobs are 0. With rules the
// reply ends before the first token that they forbid.
class ScriptExecutor final : public Executor {
 public:
  // tokenizer and clock must outlive it.
  ScriptExecutor(std::vector<ScriptLine> lines, const tokenizer::Tokenizer* tokenizer,
                 const Clock* clock);

  std::string start(RequestId id, const GenerateRequest& request, uint64_t seed) override;
  void end(RequestId id) override;
  Result<std::vector<SliceOutcome>> step(std::span<const sched::Slice> slices) override;
  Clock::Nanoseconds next_due() const override { return next_due_; }

 private:
  struct Playing {
    std::vector<Increment> increments;
    size_t next = 0;
    const GenerateRequest* request = nullptr;
    std::unique_ptr<grammar::Constraint> constraint = {};
    double prefill_ms = 0.0, delay_ms = 0.0;
    // The slice that is being waited for, by the tokens before it.
    uint32_t waiting_n_past = ~0u;
    Clock::Nanoseconds waiting_since{0};
  };

  const ScriptLine* choose(const std::string& match_text);
  std::vector<Increment> increments_of(const ScriptLine& line) const;
  void append_text(std::string_view text, bool parse_control, std::vector<Increment>* out) const;
  void append_piece(std::string_view bytes, std::vector<Increment>* out) const;
  std::vector<TokenId> encode(std::string_view text, bool parse_control, bool* is_exact) const;
  void cut_thinking(const std::string& mark, Playing* playing) const;
  Status hold_to_rules(grammar::Constraint* constraint, Increment* increment) const;
  Clock::Nanoseconds due(Playing* playing, const sched::Slice& slice, uint32_t n_rows) const;

  std::vector<ScriptLine> lines_;
  std::vector<bool> used_;
  const tokenizer::Tokenizer* tokenizer_;
  const Clock* clock_;
  std::unordered_map<RequestId, Playing> playing_;
  Clock::Nanoseconds next_due_{0};
};

}  // namespace tempo9::engine
