// Runs plans on a model: batch, backend step, sampling.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/executor.h"
#include "engine/mask_worker.h"
#include "engine/pool.h"
#include "ops/backend.h"
#include "sampling/sampler.h"

namespace tempo9::engine {

class ModelExecutor final : public Executor {
 public:
  // n_vocab: logits a row; n_tokens: ids that mean something to the tokenizer, the only ones ever
  // sampled.
  ModelExecutor(std::unique_ptr<ops::Backend> backend, uint32_t n_vocab, uint32_t n_tokens);

  std::string start(RequestId id, const GenerateRequest& request, uint64_t seed) override;
  void end(RequestId id) override;
  Result<std::vector<SliceOutcome>> step(std::span<const sched::Slice> slices) override;
  void interrupt() override { backend_->interrupt(); }

  ops::Backend& backend() { return *backend_; }

 private:
  struct Sequence {
    const GenerateRequest* request = nullptr;
    uint64_t seed = 0;
    std::vector<TokenId> output = {};
    std::optional<MaskJob> masking = {};  // with rules: the constraint and what it allows next
    std::optional<Error> error = {};      // why there is none
    Pool pool = Pool();                   // with pooling
  };

  void build_batch(std::span<const sched::Slice> slices);
  void begin_masks(std::span<const sched::Slice> slices);
  // A token that the sequence's rules take. -1: there is none.
  // run_maxima: of the logits, as Backend's.
  Result<TokenId> sample(Sequence* sequence, std::span<const float> logits,
                         std::span<const float> run_maxima);
  Result<SliceOutcome> outcome_of(const sched::Slice& slice, std::span<const float> logits,
                                  std::span<const float> run_maxima);
  SliceOutcome pooled_outcome(const sched::Slice& slice, std::span<const float> states);
  TokenInfo info_of(TokenId id, const GenerateRequest& request,
                    std::span<const float> logits) const;

  std::unique_ptr<ops::Backend> backend_;
  uint32_t n_vocab_;
  uint32_t n_tokens_;
  sampling::Sampler sampler_;
  std::unordered_map<RequestId, Sequence> sequences_;
  // The batch of a step, kept for its memory.
  std::vector<int32_t> rows_;
  std::vector<ops::BatchSequence> batch_sequences_;
  std::vector<ops::StateOut> states_out_;
  std::vector<uint32_t> logit_rows_, state_rows_;
  MaskWorker mask_worker_;  // last: it writes into sequences_
};

// Pages move through the backend.
class BackendCopier final : public kv::PageCopier {
 public:
  explicit BackendCopier(ops::Backend* backend) : backend_(backend) {}
  void copy_page(kv::PageId from, kv::PageId to, uint32_t n_tokens) override {
    backend_->copy_page(from, to, n_tokens);
  }
  void copy_part(kv::PageId from, kv::PageId to, size_t page_class) override {
    backend_->copy_part(from, to, page_class);
  }
  void drop_part(kv::PageId page, size_t page_class) override {
    backend_->drop_part(page, page_class);
  }
  void drop_state(kv::StateSlot slot) override { backend_->drop_state(slot); }

 private:
  ops::Backend* backend_;
};

}  // namespace tempo9::engine
