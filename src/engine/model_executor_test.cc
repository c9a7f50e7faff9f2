#include "engine/model_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "grammar/thinking.h"

namespace tempo9::engine {
namespace {

// Gives the logits that a test sets, and keeps the batch that it was given.
class StubBackend final : public ops::Backend {
 public:
  Result<std::span<const float>> step(const ops::Batch& batch) override {
    tokens.assign(batch.tokens.begin(), batch.tokens.end());
    sequences.assign(batch.sequences.begin(), batch.sequences.end());
    logit_rows.assign(batch.logit_rows.begin(), batch.logit_rows.end());
    state_rows.assign(batch.state_rows.begin(), batch.state_rows.end());
    return std::span<const float>(logits);
  }
  std::span<const float> states() const override { return hidden; }
  void interrupt() override { interrupted = true; }
  void copy_page(ops::PageId from, ops::PageId to, uint32_t n_tokens) override {
    copied = {from, to, n_tokens};
  }
  void copy_part(ops::PageId, ops::PageId, size_t) override {}
  void drop_part(ops::PageId, size_t) override {}
  void read_page(ops::PageId, std::span<uint8_t>) const override {}
  void write_page(ops::PageId, std::span<const uint8_t>) override {}
  void drop_state(ops::StateSlot) override {}
  void read_state(ops::StateSlot, std::span<uint8_t>) const override {}
  void write_state(ops::StateSlot, std::span<const uint8_t>) override {}
  uint64_t state_bytes() const override { return 0; }
  std::string_view numerics() const override { return "stub"; }
  uint64_t page_bytes() const override { return 1; }
  uint64_t weight_bytes() const override { return 1; }
  std::string_view name() const override { return "stub"; }

  bool interrupted = false;
  std::vector<float> logits, hidden;
  std::vector<int32_t> tokens;
  std::vector<ops::BatchSequence> sequences;
  std::vector<uint32_t> logit_rows, state_rows;
  std::vector<uint32_t> copied;
};

struct ExecutorFixture {
  ExecutorFixture() {
    auto owned = std::make_unique<StubBackend>();
    backend = owned.get();
    executor.emplace(std::move(owned), 4, 3);
    greedy.prompt = {0, 1, 2};
    greedy.sampling.temperature = 0.0f;
  }
  StubBackend* backend = nullptr;
  std::optional<ModelExecutor> executor;
  GenerateRequest greedy;
};

// An embedding's rows ask for states, a reply's beside it for logits.
TEST(ModelExecutor, PoolsStatesBesideReplies) {
  ExecutorFixture f;
  GenerateRequest pooled = f.greedy;
  pooled.pooling = Pooling::kMean;
  f.executor->start(1, pooled, 0);
  f.executor->start(2, f.greedy, 0);
  const std::vector<TokenId> a = {0, 1}, b = {2}, c = {2};
  const std::vector<kv::PageId> pages = {7};
  f.backend->logits = {0, 5, 1, 9};
  f.backend->hidden = {1, 2, /**/ 3, 5};
  auto outcomes = f.executor->step(std::vector<sched::Slice>{
      {.id = 1, .tokens = a, .n_past = 0, .pages = pages, .first_logit_row = 0},
      {.id = 2, .tokens = b, .n_past = 2, .pages = pages, .first_logit_row = 0, .samples = true}});
  ASSERT_TRUE(outcomes);
  EXPECT_EQ(f.backend->state_rows, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(f.backend->logit_rows, (std::vector<uint32_t>{2}));
  EXPECT_TRUE((*outcomes)[0].embedding.empty());
  EXPECT_EQ((*outcomes)[1].next.tokens[0].id, 1);
  f.backend->logits = {};
  f.backend->hidden = {5, 11};
  outcomes = f.executor->step(std::vector<sched::Slice>{
      {.id = 1, .tokens = c, .n_past = 2, .pages = pages, .first_logit_row = 0, .samples = true}});
  ASSERT_TRUE(outcomes);
  EXPECT_EQ((*outcomes)[0].embedding, (std::vector<float>{3, 6}));
  f.backend->hidden = {NAN, 11};
  f.executor->start(1, pooled, 0);
  outcomes = f.executor->step(std::vector<sched::Slice>{
      {.id = 1, .tokens = c, .n_past = 0, .pages = pages, .first_logit_row = 0, .samples = true}});
  ASSERT_TRUE(outcomes);
  EXPECT_EQ((*outcomes)[0].next.finish->reason, FinishReason::kError);
}

TEST(ModelExecutor, BuildsTheBatchAndReadsEachSequencesLogits) {
  ExecutorFixture f;
  GenerateRequest other = f.greedy;
  other.n_logprobs = 2;
  f.executor->start(1, f.greedy, 0);
  f.executor->start(2, other, 0);
  const std::vector<TokenId> a = {0}, b = {0, 1, 2};
  const std::vector<kv::PageId> pages = {7};
  f.backend->logits = {0, 5, 1, 9, /**/ 1, 0, 0, 0, /**/ 0, 2, 0, 0, /**/ 3, 0, 0, 0};
  const auto outcomes = f.executor->step(std::vector<sched::Slice>{
      {.id = 1, .tokens = a, .n_past = 4, .pages = pages, .first_logit_row = 0, .samples = true},
      {.id = 2, .tokens = b, .n_past = 0, .pages = pages, .first_logit_row = 0, .samples = true}});
  ASSERT_TRUE(outcomes);
  EXPECT_EQ(f.backend->tokens, (std::vector<int32_t>{0, 0, 1, 2}));
  EXPECT_EQ(f.backend->logit_rows, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(f.backend->sequences[1].first_row, 1u);
  EXPECT_EQ(f.backend->sequences[0].n_past, 4u);
  EXPECT_EQ((*outcomes)[0].n_rows, 1u);
  EXPECT_EQ((*outcomes)[0].next.tokens[0].id, 1);  // 3 is more likely, but pads the vocabulary
  EXPECT_FALSE((*outcomes)[0].next.tokens[0].logprob.has_value());
  const SliceOutcome& second = (*outcomes)[1];
  ASSERT_EQ(second.prompt.size(), 2u);
  EXPECT_EQ(second.prompt[0].id, 1);
  EXPECT_FLOAT_EQ(*second.prompt[0].logprob, -1.7436684f);  // -log(e + 3)
  EXPECT_EQ(second.prompt[0].top[0].id, 0);
  EXPECT_EQ(second.next.tokens[0].id, 0);
  EXPECT_EQ(second.next.tokens[0].top.size(), 2u);
}

// Rules by hand: the mask allows ids, and refuses turns down what the mask allows.
struct FakeRules final : grammar::Rules {
  FakeRules(uint32_t mask, std::vector<TokenId> refuses) : allowed(mask), refused(refuses) {}
  struct State final : grammar::Constraint {
    explicit State(const FakeRules* r) : rules(r) {}
    Result<bool> fill_mask(std::span<uint32_t> mask) override {
      if (rules->allowed == 0) return false;
      mask[0] = rules->allowed;
      return true;
    }
    Result<bool> accept(TokenId id) override { return std::ranges::count(rules->refused, id) == 0; }
    Result<bool> accept_text(std::string_view) override { return true; }
    bool can_end() const override { return rules->whole; }
    bool ended() const override { return false; }
    const FakeRules* rules;
  };
  Result<std::unique_ptr<grammar::Constraint>> start() const override {
    return std::unique_ptr<grammar::Constraint>(std::make_unique<State>(this));
  }
  size_t n_tokens() const override { return 3; }
  uint32_t allowed;
  std::vector<TokenId> refused;
  bool whole = false;
};

TEST(ModelExecutor, RulesDecideWhatIsSampledAndNothingElse) {
  struct Case {
    std::shared_ptr<FakeRules> rules;
    TokenId expected;  // -1: none
  };
  const Case cases[] = {{nullptr, 1},
                        {std::make_shared<FakeRules>(0b101u, std::vector<TokenId>{}), 2},
                        {std::make_shared<FakeRules>(0b111u, std::vector<TokenId>{1}), 2},
                        {std::make_shared<FakeRules>(0u, std::vector<TokenId>{1, 2}), 0},
                        {std::make_shared<FakeRules>(0b110u, std::vector<TokenId>{1, 2}), -1}};
  for (const Case& c : cases) {
    ExecutorFixture f;
    GenerateRequest request = f.greedy;
    request.rules = c.rules;
    request.n_logprobs = 1;
    f.executor->start(1, request, 0);
    f.backend->logits = {0, 5, 1, 9};
    const std::vector<TokenId> last = {2};
    const std::vector<kv::PageId> pages = {7};
    const auto outcomes = f.executor->step(std::vector<sched::Slice>{{.id = 1,
                                                                      .tokens = last,
                                                                      .n_past = 2,
                                                                      .pages = pages,
                                                                      .first_logit_row = 0,
                                                                      .samples = true}});
    ASSERT_TRUE(outcomes);
    const Increment& next = (*outcomes)[0].next;
    if (c.expected < 0) {
      EXPECT_TRUE(next.tokens.empty());
      EXPECT_EQ(next.finish->reason, FinishReason::kLength);
      continue;
    }
    ASSERT_EQ(next.tokens.size(), 1u);
    EXPECT_EQ(next.tokens[0].id, c.expected);
    EXPECT_EQ(next.tokens[0].top[0].id, 1);  // of the model's distribution, not of the rules'
  }
}

TEST(ModelExecutor, ASliceWithoutLogitsSamplesNothing) {
  ExecutorFixture f;
  f.executor->start(1, f.greedy, 0);
  const std::vector<TokenId> tokens = {0, 1};
  const auto outcomes = f.executor->step(
      std::vector<sched::Slice>{{.id = 1, .tokens = tokens, .first_logit_row = 2}});
  ASSERT_TRUE(outcomes);
  EXPECT_TRUE(f.backend->logit_rows.empty());
  EXPECT_EQ((*outcomes)[0].n_rows, 2u);
  EXPECT_TRUE((*outcomes)[0].next.tokens.empty());
}

TEST(ModelExecutor, BrokenLogitsEndTheirOwnRequest) {
  ExecutorFixture f;
  f.executor->start(1, f.greedy, 0);
  f.executor->start(2, f.greedy, 0);
  GenerateRequest with_rules = f.greedy;
  with_rules.rules = std::make_shared<FakeRules>(0b111u, std::vector<TokenId>{});
  f.executor->start(3, with_rules, 0);
  const std::vector<TokenId> tokens = {0};
  const float nan = std::nanf("");
  f.backend->logits = {nan, nan, nan, 1, 0, 0, 1, 0, nan, nan, nan, nan};
  const auto outcomes = f.executor->step(
      std::vector<sched::Slice>{{.id = 1, .tokens = tokens, .n_past = 4, .samples = true},
                                {.id = 2, .tokens = tokens, .n_past = 4, .samples = true},
                                {.id = 3, .tokens = tokens, .n_past = 4, .samples = true}});
  ASSERT_TRUE(outcomes);
  EXPECT_EQ((*outcomes)[0].next.finish->reason, FinishReason::kError);
  EXPECT_EQ((*outcomes)[2].next.finish->reason, FinishReason::kError);
  const std::string& why = (*outcomes)[0].next.finish->error->message;
  EXPECT_NE(why.find("token 5: the model computed no finite numbers"), std::string::npos) << why;
  EXPECT_EQ((*outcomes)[1].next.tokens[0].id, 2);
}

TEST(ModelExecutor, AnInterruptGoesToTheBackend) {
  ExecutorFixture f;
  f.executor->interrupt();
  EXPECT_TRUE(f.backend->interrupted);
}

TEST(ModelExecutor, CopiesGoToTheBackend) {
  ExecutorFixture f;
  BackendCopier copier(f.backend);
  copier.copy_page(3, 4, 5);
  EXPECT_EQ(f.backend->copied, (std::vector<uint32_t>{3, 4, 5}));
}

TEST(ModelExecutor, ThinkingEndsWhereItsBudgetDoes) {
  const auto tokenizer = tokenizer::make_byte_tokenizer();
  const auto n = static_cast<uint32_t>(tokenizer->size());
  auto owned = std::make_unique<StubBackend>();
  owned->logits.assign(n, 0.0f);
  owned->logits['a'] = 9.0f;  // all that this model ever says
  ModelExecutor executor(std::move(owned), n, n);
  GenerateRequest request;
  request.prompt = {'x'};
  request.sampling.temperature = 0.0f;
  const std::vector<TokenId> open = {tokenizer->find("<think>")},
                             close = {tokenizer->find("</think>")};
  request.rules = grammar::with_thinking_budget(
      nullptr, {.pairs = {{open, close}}, .starts_inside = true}, 3, tokenizer.get());
  executor.start(1, request, 0);
  const std::vector<TokenId> row = {'x'};
  const std::vector<kv::PageId> pages = {0};
  std::string said;
  for (int i = 0; i < 6; ++i) {
    const auto outcomes = executor.step(std::vector<sched::Slice>{
        {.id = 1, .tokens = row, .n_past = 0, .pages = pages, .samples = true}});
    ASSERT_TRUE(outcomes);
    said += tokenizer->token_bytes((*outcomes)[0].next.tokens.at(0).id, true);
  }
  EXPECT_EQ(said, "aaa</think>aa");
}

}  // namespace
}  // namespace tempo9::engine
