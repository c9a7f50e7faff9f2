#include "engine/bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "engine/bench_work.h"
#include "sched/scheduler.h"

namespace tempo9::engine {
namespace {

static_assert(kBenchSlice == sched::Limits{}.max_rows);

constexpr uint32_t kWarmUpSteps = 8;

uint32_t largest(const std::vector<uint32_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

uint32_t BenchPlan::max_rows() const { return decode.empty() ? 1 : std::max(1u, largest(rows)); }

uint64_t BenchPlan::max_length() const {
  const uint64_t reply = decode.empty() ? 0 : uint64_t{depth} + largest(decode);
  return std::max<uint64_t>(largest(prefill), reply);
}

uint64_t BenchPlan::n_pages() const {
  const uint64_t reply = decode.empty() ? 0 : kv::pages_for(uint64_t{depth} + largest(decode));
  return std::max(kv::pages_for(largest(prefill)), reply * max_rows());
}

Bench::Bench(const ops::Program& program, ops::KvType kv_type, uint32_t n_ids,
             ops::Backend* backend, const Clock* clock, std::vector<double>* op_seconds)
    : program_(program),
      kv_type_(kv_type),
      n_ids_(n_ids),
      backend_(backend),
      clock_(clock),
      op_seconds_(op_seconds),
      sampler_(program.n_vocab, n_ids),
      weight_bytes_(backend->weight_bytes() - unread_bytes(program)) {}

Status Bench::run(const BenchPlan& plan, const std::function<void(const BenchResult&)>& sink) {
  plan_ = plan;
  page_ids_.resize(plan.n_pages());
  std::iota(page_ids_.begin(), page_ids_.end(), 0u);
  for (const uint32_t n : plan.prefill) {
    T9_TRY(const BenchResult result, prefill(n));
    sink(result);
  }
  if (plan.decode.empty()) return {};
  pages_a_sequence_ =
      static_cast<uint32_t>(kv::pages_for(uint64_t{plan.depth} + largest(plan.decode)));
  T9_TRY(make_context());
  for (const uint32_t n : plan.decode) {
    for (const uint32_t rows : plan.rows) {
      T9_TRY(const BenchResult result, decode(n, rows));
      sink(result);
    }
  }
  return {};
}

Result<BenchResult> Bench::prefill(uint32_t n) {
  T9_TRY(read_prompt(std::min(n, kBenchSlice)));
  BenchResult result{.kind = BenchResult::Kind::kPrefill, .n = n, .seconds = {}, .parts = {}};
  T9_TRY(time([&] { return read_prompt(n); }, &result));
  result.work = static_cast<double>(weight_multiply_adds(program_, n, 1));
  return result;
}

Result<BenchResult> Bench::decode(uint32_t n, uint32_t rows) {
  T9_TRY(write_replies(std::min(n, kWarmUpSteps), rows));
  BenchResult result{.kind = BenchResult::Kind::kDecode,
                     .n = n,
                     .rows = rows,
                     .depth = plan_.depth,
                     .seconds = {},
                     .parts = {}};
  T9_TRY(time([&] { return write_replies(n, rows); }, &result));
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t kv = kv_read_bytes(program_, kv_type_, plan_.depth + i + 1);
    result.work += static_cast<double>(weight_bytes_ + rows * kv);
  }
  return result;
}

Status Bench::read_prompt(uint32_t n) {
  std::vector<int32_t> tokens(std::min(n, kBenchSlice));
  for (uint32_t done = 0; done < n;) {
    const uint32_t n_rows = std::min(n - done, kBenchSlice);
    // Ids that jump about in the vocabulary, as text does.
    for (uint32_t i = 0; i < n_rows; ++i)
      tokens[i] = static_cast<int32_t>((uint64_t{done + i} * 7919 + 13) % n_ids_);
    const uint32_t last = n_rows - 1;
    const ops::StateOut state{last, 0};
    ops::BatchSequence sequence{0, n_rows, done, page_ids_};
    if (is_recurrent()) {
      sequence.state_in = done > 0 ? state.slot : ops::kNoSlot;
      sequence.states_out = {&state, 1};
    }
    const bool ends = done + n_rows == n;
    T9_TRY(const std::span<const float> logits,
           backend_->step({.tokens = std::span(tokens).first(n_rows),
                           .sequences = {&sequence, 1},
                           .logit_rows = {&last, ends ? size_t{1} : 0}}));
    if (ends) T9_TRY(choose(logits, 0));
    done += n_rows;
  }
  return {};
}

Status Bench::make_context() {
  if (plan_.depth == 0) return {};
  T9_TRY(read_prompt(plan_.depth));
  for (uint32_t sequence = 1; sequence < plan_.max_rows(); ++sequence) {
    for (uint32_t done = 0, page = 0; done < plan_.depth; done += ops::kPageTokens, ++page) {
      backend_->copy_page(pages(0)[page], pages(sequence)[page],
                          std::min(ops::kPageTokens, plan_.depth - done));
    }
    std::vector<uint8_t> state(backend_->state_bytes());
    if (is_recurrent()) backend_->read_state(0, state);
    if (is_recurrent()) backend_->write_state(sequence, state);
  }
  return {};
}

Status Bench::write_replies(uint32_t n, uint32_t rows) {
  std::vector<int32_t> tokens(rows);
  std::vector<uint32_t> logit_rows(rows);
  std::vector<ops::BatchSequence> sequences(rows);
  // The states behind the context stay for the next repeat.
  std::vector<ops::StateOut> states(rows);
  for (uint32_t r = 0; r < rows; ++r) states[r] = {0, plan_.max_rows() + r};
  for (uint32_t r = 0; r < rows; ++r) tokens[r] = static_cast<int32_t>(r % n_ids_);
  std::iota(logit_rows.begin(), logit_rows.end(), 0u);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t r = 0; r < rows; ++r) {
      sequences[r] = {r, 1, plan_.depth + i, pages(r)};
      if (!is_recurrent()) continue;
      if (plan_.depth + i > 0) sequences[r].state_in = i > 0 ? states[r].slot : r;
      sequences[r].states_out = {&states[r], 1};
    }
    T9_TRY(const std::span<const float> logits,
           backend_->step({.tokens = tokens, .sequences = sequences, .logit_rows = logit_rows}));
    for (uint32_t r = 0; r < rows; ++r) {
      T9_TRY(tokens[r], choose(logits, r));
    }
  }
  return {};
}

Result<int32_t> Bench::choose(std::span<const float> logits, uint32_t row) {
  const uint32_t n = program_.n_vocab;
  sampling::SampleInput input{.logits = logits.subspan(size_t{row} * n, n)};
  const size_t n_runs = ops::logit_runs(n);
  if (const auto maxima = backend_->run_maxima(); !maxima.empty())
    input.run_maxima = maxima.subspan(row * n_runs, n_runs);
  const int32_t id = sampler_.sample({.temperature = 0.0f}, input);
  if (id < 0) {
    return make_error(
        ErrorCode::kInternal,
        "the model's logits hold no number to choose a token by; is the file damaged?");
  }
  return id;
}

std::span<const ops::PageId> Bench::pages(uint32_t sequence) const {
  return std::span(page_ids_).subspan(size_t{sequence} * pages_a_sequence_, pages_a_sequence_);
}

Status Bench::time(const std::function<Status()>& repeat, BenchResult* result) const {
  if (op_seconds_) std::fill(op_seconds_->begin(), op_seconds_->end(), 0.0);
  for (uint32_t i = 0; i < plan_.n_repeats; ++i) {
    const Clock::Nanoseconds begin = clock_->now();
    T9_TRY(repeat());
    result->seconds.push_back(to_seconds(clock_->now() - begin));
  }
  if (op_seconds_) result->parts = bench_parts(program_, *op_seconds_);
  return {};
}

}  // namespace tempo9::engine
