// The order of steps and what is counted, on a backend whose time is known.
#include "engine/bench.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/bench_work.h"
#include "engine/testing/fake_backend.h"
#include "engine/testing/fake_clock.h"

namespace tempo9::engine {
namespace {

constexpr uint32_t kBenchVocab = 64;
constexpr uint64_t kWeightBytes = 10'000;

// A step takes a millisecond and another for each row. Checks what batch.h requires, and that every
// key that a row sees was written by its sequence or copied to it.
class TimedBackend final : public ops::Backend {
 public:
  TimedBackend(uint32_t n_pages, testing::FakeClock* clock)
      : inner_(n_pages, kBenchVocab), clock_(clock), filled_(n_pages) {}

  Result<std::span<const float>> step(const ops::Batch& batch) override {
    std::set<ops::PageId> written;
    std::string shape;
    for (const ops::BatchSequence& s : batch.sequences) {
      for (uint32_t i = 0; i < s.n_rows; ++i) {
        const uint32_t position = s.n_past + i;
        const ops::PageId page = s.pages[position / ops::kPageTokens];
        EXPECT_TRUE(i > 0 || written.insert(page).second) << "page " << page << " written twice";
        if (position > 0) {
          EXPECT_TRUE(is_filled(s.pages, position - 1)) << position;
        }
        filled_[page] |= 1u << position % ops::kPageTokens;
      }
      shape += fmt::format("{}+{} ", s.n_past, s.n_rows);
    }
    shapes.push_back(shape + (batch.logit_rows.empty() ? "" : "logits"));
    clock_->set(clock_->now() + std::chrono::milliseconds(1 + batch.tokens.size()));
    if (broken) {
      nan_.assign(batch.logit_rows.size() * kBenchVocab, NAN);
      return std::span<const float>(nan_);
    }
    return inner_.step(batch);
  }
  std::span<const float> states() const override { return inner_.states(); }
  void interrupt() override { inner_.interrupt(); }
  void copy_page(ops::PageId from, ops::PageId to, uint32_t n_tokens) override {
    inner_.copy_page(from, to, n_tokens);
    filled_[to] = filled_[from] & static_cast<uint32_t>((uint64_t{1} << n_tokens) - 1);
  }
  void copy_part(ops::PageId, ops::PageId, size_t) override {}
  void drop_part(ops::PageId, size_t) override {}
  void read_page(ops::PageId, std::span<uint8_t>) const override {}
  void write_page(ops::PageId, std::span<const uint8_t>) override {}
  void drop_state(ops::StateSlot) override {}
  void read_state(ops::StateSlot, std::span<uint8_t>) const override {}
  void write_state(ops::StateSlot, std::span<const uint8_t>) override {}
  uint64_t state_bytes() const override { return 0; }
  std::string_view numerics() const override { return "timed"; }
  uint64_t page_bytes() const override { return 1; }
  uint64_t weight_bytes() const override { return kWeightBytes; }
  std::string_view name() const override { return "timed"; }

  std::vector<std::string> shapes;  // of steps
  bool broken = false;

 private:
  bool is_filled(std::span<const ops::PageId> pages, uint32_t position) const {
    return (filled_[pages[position / ops::kPageTokens]] >> position % ops::kPageTokens & 1) != 0;
  }

  testing::FakeBackend inner_;
  testing::FakeClock* clock_;
  std::vector<uint32_t> filled_;  // by page: a bit for each position
  std::vector<float> nan_;
};

ops::Program small_program() {
  static const std::vector<uint8_t> bytes(8 * kBenchVocab * 4);
  ops::Program program;
  ops::Matrix table;
  table.name = "table";
  table.n_in = 8;
  table.n_out = kBenchVocab;
  table.data = bytes;
  const ops::MatrixId id = program.add_matrix(table);
  program.n_vocab = kBenchVocab;
  program.kv_layers = {{1, 4}};
  const ops::TensorId x = program.embed(id, 1.0f);
  ops::Matrix qkv = table;
  qkv.n_out = 16;
  qkv.data = std::span(bytes).first(8 * 16 * 4);
  program.add_linear(x,
                     program.attention({.qkv = program.linear(x, {program.add_matrix(qkv)}),
                                        .kv_layer = 0,
                                        .n_heads = 2,
                                        .scale = 1,
                                        .window = 0}),
                     program.add_matrix([&] {
                       ops::Matrix out = table;
                       out.n_out = 8;
                       out.data = std::span(bytes).first(8 * 8 * 4);
                       return out;
                     }()));
  program.head(program.select_rows(x), id);
  return program;
}

struct BenchRun {
  explicit BenchRun(const BenchPlan& plan, bool broken = false)
      : backend(static_cast<uint32_t>(plan.n_pages()), &clock) {
    backend.broken = broken;
    Bench bench(program, ops::KvType::kF16, kBenchVocab, &backend, &clock);
    status = bench.run(plan, [&](const BenchResult& result) { results.push_back(result); });
  }
  ops::Program program = small_program();
  testing::FakeClock clock{true};
  TimedBackend backend;
  std::vector<BenchResult> results;
  Status status;
};

TEST(Bench, PromptsGoInSlices) {
  const BenchRun run({.prefill = {1100, 3}, .decode = {}, .n_repeats = 2});
  ASSERT_TRUE(run.status) << run.status.error().message;
  ASSERT_EQ(run.results.size(), 2u);
  const BenchResult& result = run.results[0];
  EXPECT_EQ(result.kind, BenchResult::Kind::kPrefill);
  EXPECT_EQ(result.n, 1100u);
  EXPECT_EQ(result.rows, 1u);
  EXPECT_EQ(result.depth, 0u);
  EXPECT_EQ(result.seconds, (std::vector<double>{1.103, 1.103}));
  // A row's products with qkv and output matrix; one row of logits.
  EXPECT_EQ(result.work, 1100.0 * (8 * 16 + 8 * 8) + 8 * kBenchVocab);
  const std::vector<std::string> expected = {
      "0+512 logits", "0+512 ",         "512+512 ",   "1024+76 logits", "0+512 ",
      "512+512 ",     "1024+76 logits", "0+3 logits", "0+3 logits",     "0+3 logits"};
  EXPECT_EQ(run.backend.shapes, expected);
}

TEST(Bench, RepliesBehindAContextOfTheirOwn) {
  const BenchRun run({.prefill = {}, .decode = {2}, .rows = {3, 1}, .depth = 40, .n_repeats = 2});
  ASSERT_TRUE(run.status) << run.status.error().message;
  ASSERT_EQ(run.results.size(), 2u);
  const BenchResult& result = run.results[0];
  EXPECT_EQ(result.kind, BenchResult::Kind::kDecode);
  EXPECT_EQ(result.n, 2u);
  EXPECT_EQ(result.rows, 3u);
  EXPECT_EQ(result.depth, 40u);
  EXPECT_EQ(result.n_tokens(), 6u);
  EXPECT_EQ(result.seconds, (std::vector<double>{0.008, 0.008}));  // two steps of three rows
  EXPECT_EQ(run.results[1].seconds, (std::vector<double>{0.004, 0.004}));
  // The table is the head, too, so all weights are read; a key and value of 4 f16 are 16 bytes.
  EXPECT_EQ(result.work, 2.0 * kWeightBytes + 3 * 16 * (41 + 42));
  const std::string three[] = {"40+1 40+1 40+1 logits", "41+1 41+1 41+1 logits"};
  const std::string one[] = {"40+1 logits", "41+1 logits"};
  std::vector<std::string> expected = {"0+40 logits"};
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), std::begin(three), std::end(three));
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), std::begin(one), std::end(one));
  EXPECT_EQ(run.backend.shapes, expected);
}

TEST(Bench, OrderOfCases) {
  const BenchRun run({.prefill = {5, 4}, .decode = {2, 1}, .rows = {2, 1}, .n_repeats = 1});
  ASSERT_TRUE(run.status) << run.status.error().message;
  std::vector<std::pair<uint32_t, uint32_t>> cases;
  for (const BenchResult& result : run.results) cases.emplace_back(result.n, result.rows);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{5, 1}, {4, 1}, {2, 2},
                                                               {2, 1}, {1, 2}, {1, 1}};
  EXPECT_EQ(cases, expected);
}

TEST(Bench, LogitsThatAreNoNumbersEndIt) {
  const BenchRun run({.prefill = {4}, .n_repeats = 1}, /*broken=*/true);
  ASSERT_FALSE(run.status);
  EXPECT_EQ(run.status.error().code, ErrorCode::kInternal);
  EXPECT_TRUE(run.results.empty());
}

TEST(BenchPlan, Sizes) {
  const BenchPlan both{.prefill = {512, 100}, .decode = {20}, .rows = {1, 8}, .depth = 70};
  EXPECT_EQ(both.max_rows(), 8u);
  EXPECT_EQ(both.max_length(), 512u);
  EXPECT_EQ(both.n_pages(), 8u * 3);  // 90 tokens are 3 pages
  const BenchPlan prompts{.prefill = {513}, .decode = {}, .rows = {8}, .depth = 0};
  EXPECT_EQ(prompts.max_rows(), 1u);
  EXPECT_EQ(prompts.n_pages(), 17u);
  const BenchPlan replies{.prefill = {}, .decode = {32}, .depth = 32};
  EXPECT_EQ(replies.max_length(), 64u);
  EXPECT_EQ(replies.n_pages(), 2u);
}

}  // namespace
}  // namespace tempo9::engine
