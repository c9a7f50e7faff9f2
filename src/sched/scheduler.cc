#include "sched/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace tempo9::sched {
namespace {

// Fewer tokens than this are computed twice rather than waited for: prompts that only begin alike
// start together.
constexpr uint32_t kWorthWaiting = 8;
// Of a step's rows for prompts, one in so many is the oldest prompt's.
constexpr uint32_t kOldestShare = 4;

}  // namespace

Scheduler::Scheduler(const Limits& limits, kv::Cache* cache) : limits_(limits), cache_(cache) {
  T9_CHECK(limits.max_batch > 0 && limits.max_rows >= limits.max_batch &&
           limits.max_logit_rows > limits.max_batch);
}

void Scheduler::add(NewSequence sequence) {
  T9_CHECK(!sequence.prompt.empty() &&
           sequence.prompt.size() <= size_t{cache_->n_pages()} * kv::kPageTokens);
  T9_CHECK(!limits_.whole_prompts || sequence.prompt.size() <= limits_.max_rows);
  Sequence s;
  s.id = sequence.id;
  s.arrival = next_arrival_++;
  s.tokens = std::move(sequence.prompt);
  s.n_prompt = static_cast<uint32_t>(s.tokens.size());
  s.all_logits = sequence.all_logits;
  s.all_states = sequence.all_states;
  s.session = sequence.session;
  waiting_.push_back(std::move(s));
}

void Scheduler::remove(SequenceId id) {
  slices_.clear();
  const auto has_id = [id](const Sequence& s) { return s.id == id; };
  std::erase_if(running_, has_id);
  std::erase_if(waiting_, has_id);
}

bool Scheduler::is_waiting(SequenceId id) const {
  return std::ranges::find(waiting_, id, &Sequence::id) != waiting_.end();
}

bool Scheduler::is_running(SequenceId id) const {
  return std::ranges::find(running_, id, &Sequence::id) != running_.end();
}

void Scheduler::give_up() {
  slices_.clear();
  for (Sequence& sequence : running_) sequence.lease.detach();
  for (Sequence& sequence : waiting_) sequence.lease.detach();  // one that was moved half-way
  running_.clear();
  waiting_.clear();
}

std::span<const Slice> Scheduler::plan() {
  for (;;) {
    slices_.clear();
    plan_replies();
    const auto n_replies = static_cast<uint32_t>(slices_.size());
    rows_left_ = std::min(limits_.max_rows - n_replies,
                          n_replies > 0 ? cost_.rows_beside_replies() : cost_.rows_alone());
    all_logit_rows_left_ = limits_.max_logit_rows - limits_.max_batch;
    admit();
    plan_prompts(
        n_replies > 0 ? std::min(cost_.rows_of_short_prompt(), limits_.max_rows - n_replies) : 0);
    if (!slices_.empty() || running_.empty()) {
      begin_states();
      return slices_;
    }
    make_room();  // prompts hold pages that each other needs
  }
}

void Scheduler::make_room() {
  if (give_way_ && give_way_()) return;
  T9_CHECK(running_.size() > 1);  // alone, the oldest one fits
  preempt_youngest();
}

void Scheduler::plan_replies() {
  // Preemption takes from the back, so what has a slice keeps it.
  for (size_t i = 0; i < running_.size(); ++i) {
    if (!running_[i].is_reply()) {
      continue;
    }
    while (i < running_.size() && !running_[i].lease.extend(running_[i].n_computed + 1)) {
      make_room();
    }
    if (i < running_.size()) {
      add_slice(&running_[i], 1);
    }
  }
}

// A prompt of at most n_short_rows is taken whole.
void Scheduler::plan_prompts(uint32_t n_short_rows) {
  prompts_.clear();
  for (Sequence& sequence : running_) {
    const bool has_slice = std::ranges::find(slices_, sequence.id, &Slice::id) != slices_.end();
    if (!has_slice) {
      prompts_.push_back(&sequence);
    }
  }
  if (prompts_.empty()) {
    return;
  }
  if (limits_.whole_prompts) {
    for (Sequence* sequence : prompts_) add_whole_prompt(sequence);
    return;
  }
  const Sequence* oldest = prompts_.front();
  uint32_t n_reserved = std::min(oldest->n_left(), (rows_left_ + kOldestShare - 1) / kOldestShare);
  std::ranges::stable_sort(prompts_, {}, &Sequence::n_left);  // equal ones: the older first
  const uint32_t n_shortest = prompts_.front()->n_left();
  if (prompts_.front() == oldest) n_reserved = 0;
  if (rows_left_ - n_reserved < n_shortest && n_shortest <= n_short_rows) {
    rows_left_ = std::max(rows_left_, n_shortest);
    n_reserved = 0;
  }
  for (Sequence* sequence : prompts_) {
    if (sequence == oldest) {
      n_reserved = 0;
    }
    add_prompt_slice(sequence, rows_left_ - n_reserved);
  }
}

void Scheduler::admit() {
  while (running_.size() < limits_.max_batch) {
    const size_t next = next_to_admit();
    // Who fits does not overtake who does not: a large request would wait for ever.
    if (next == waiting_.size() || !try_admit(&waiting_[next])) return;
    for (size_t i = 0; i < next; ++i) {
      if (!is_being_computed(waiting_[i])) ++waiting_[i].n_overtaken;
    }
    // A sequence that was preempted is older than some that run.
    const auto place =
        std::upper_bound(running_.begin(), running_.end(), waiting_[next].arrival,
                         [](uint64_t arrival, const Sequence& s) { return arrival < s.arrival; });
    running_.insert(place, std::move(waiting_[next]));
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(next));
  }
}

// The place in the queue of the one whose turn it is; the queue's size: none.
size_t Scheduler::next_to_admit() {
  const auto n_running = [&](uint64_t session) {
    return session == 0 ? 0 : std::ranges::count(running_, session, &Sequence::session);
  };
  size_t best = waiting_.size();
  ptrdiff_t fewest = 0;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const ptrdiff_t n =
        waiting_[i].n_overtaken >= kMaxOvertaken ? 0 : n_running(waiting_[i].session);
    if ((best == waiting_.size() || n < fewest) && !is_being_computed(waiting_[i])) {
      best = i;
      fewest = n;
    }
    if (best < waiting_.size() && fewest == 0) break;
  }
  return best;
}

// Leases what is cached if the whole prompt fits beside what running prompts still need.
bool Scheduler::try_admit(Sequence* sequence) {
  const auto n_tokens = static_cast<uint32_t>(sequence->tokens.size());
  // The last token is always computed: its logits are needed.
  uint32_t limit = sequence->wants_all_rows() ? sequence->n_given : n_tokens - 1;
  if (limits_.whole_prompts) limit = 0;
  kv::Lease lease = cache_->match_prefix(sequence->tokens, limit);
  uint64_t n_bytes = lease.missing_bytes(n_tokens + 1);
  uint64_t n_pages = lease.missing_pages(n_tokens + 1);
  for (const Sequence& s : running_) {
    const auto n_known = static_cast<uint32_t>(s.tokens.size());
    n_bytes += s.lease.missing_bytes(n_known + 1);
    n_pages += s.lease.missing_pages(n_known + 1);
  }
  const bool fits = n_bytes <= cache_->free_bytes() && n_pages <= cache_->n_free_pages();
  if (!running_.empty() && !fits) {
    return false;
  }
  lease.use();
  sequence->n_computed = lease.n_cached();
  if (!sequence->admitted_before) {
    sequence->cached = lease.cached();
    sequence->admitted_before = true;
  }
  sequence->lease = std::move(lease);
  // The last token is computed again by whoever sends the same prompt.
  sequence->lease.want_state(sequence->n_prompt - 1);
  return true;
}

// Whether a running prompt is about to compute more of what this one needs, too.
// With recurrent layers it can go on from a page border only, where the leader leaves a state.
bool Scheduler::is_being_computed(const Sequence& sequence) {
  if (sequence.wants_all_rows() || limits_.whole_prompts) {
    return false;
  }
  return std::ranges::any_of(running_, [&](Sequence& leader) {
    // One that wants all rows computes what is known as well: nobody waits for that.
    if (leader.n_left() <= 1 || leader.wants_all_rows()) {
      return false;
    }
    auto common = static_cast<uint32_t>(std::ranges::mismatch(leader.tokens, sequence.tokens).in1 -
                                        leader.tokens.begin());
    if (!cache_->has_states()) return common >= leader.n_computed + kWorthWaiting;
    common = std::min(common, static_cast<uint32_t>(sequence.tokens.size()) - 1);
    common -= common % kv::kPageTokens;
    if (common <= leader.n_computed) return false;
    leader.lease.want_state(common);
    return true;
  });
}

// The slice of a prompt: as much as rows, logit rows and pages allow; perhaps nothing.
void Scheduler::add_prompt_slice(Sequence* sequence, uint32_t max_rows) {
  uint32_t n_rows = std::min(sequence->n_left(), max_rows);
  if (sequence->all_logits && sequence->wants_all_rows()) {
    n_rows = std::min(n_rows, all_logit_rows_left_);
    all_logit_rows_left_ -= n_rows;
  }
  while (n_rows > 0 && !sequence->lease.extend(sequence->n_computed + n_rows)) {
    n_rows /= 2;
  }
  if (n_rows > 0) {
    rows_left_ -= n_rows;
    add_slice(sequence, n_rows);
  }
}

// In order of arrival, as many as the step's rows allow; the first one comes in any case.
void Scheduler::add_whole_prompt(Sequence* sequence) {
  const uint32_t n_rows = sequence->n_left();
  if (!slices_.empty() && n_rows > rows_left_) return;
  if (!sequence->lease.extend(n_rows)) return;
  rows_left_ -= std::min(rows_left_, n_rows);
  add_slice(sequence, n_rows);
}

void Scheduler::add_slice(Sequence* sequence, uint32_t n_rows) {
  Slice slice;
  slice.id = sequence->id;
  slice.tokens = std::span(sequence->tokens).subspan(sequence->n_computed, n_rows);
  slice.n_past = sequence->n_computed;
  slice.pages = sequence->lease.pages();
  slice.samples = n_rows == sequence->n_left();
  slice.first_logit_row = sequence->wants_all_rows() ? 0 : n_rows - (slice.samples ? 1u : 0u);
  slice.cached = sequence->cached;
  slices_.push_back(slice);
}

// Once the plan stands: what is left of memory may keep states for others.
void Scheduler::begin_states() {
  if (!cache_->has_states()) return;
  for (Slice& slice : slices_) {
    const auto it = std::ranges::find(running_, slice.id, &Sequence::id);
    slice.states = it->lease.begin_step(static_cast<uint32_t>(slice.tokens.size()));
  }
}

void Scheduler::preempt_youngest() {
  Sequence sequence = std::move(running_.back());
  running_.pop_back();
  sequence.lease = kv::Lease();
  sequence.n_computed = 0;
  ++n_preemptions_;
  const auto place =
      std::upper_bound(waiting_.begin(), waiting_.end(), sequence.arrival,
                       [](uint64_t arrival, const Sequence& s) { return arrival < s.arrival; });
  waiting_.insert(place, std::move(sequence));
}

void Scheduler::apply(std::span<const SliceResult> results, double step_ms) {
  T9_CHECK(results.size() == slices_.size());
  observe(step_ms);
  for (size_t i = 0; i < results.size(); ++i) {
    const SliceResult& result = results[i];
    const Slice& slice = slices_[i];
    T9_CHECK(result.n_rows <= slice.tokens.size());
    T9_CHECK(result.tokens.empty() || (slice.samples && result.n_rows == slice.tokens.size()));
    if (result.n_rows == 0) {
      continue;
    }
    const auto it = std::ranges::find(running_, slice.id, &Sequence::id);
    T9_CHECK(it != running_.end());
    it->n_computed += result.n_rows;
    it->n_given = std::max(it->n_given, std::min(it->n_computed, it->n_prompt));
    if (!limits_.whole_prompts) it->lease.commit(std::span(it->tokens).first(it->n_computed));
    it->tokens.insert(it->tokens.end(), result.tokens.begin(), result.tokens.end());
  }
  slices_.clear();
}

void Scheduler::observe(double step_ms) {
  uint32_t n_replies = 0, n_prompt = 0;
  for (const Slice& slice : slices_) {
    const bool is_reply = slice.samples && slice.tokens.size() == 1;
    (is_reply ? n_replies : n_prompt) += static_cast<uint32_t>(slice.tokens.size());
  }
  cost_.observe(n_replies, n_prompt, step_ms);
}

Status Scheduler::check_integrity() const {
  T9_TRY(cache_->check_integrity());
  const auto broken = [](const char* what, SequenceId id) {
    return make_error(ErrorCode::kInternal, "scheduler: {} (sequence {})", what, id);
  };
  if (running_.size() > limits_.max_batch) {
    return broken("more sequences run than the batch has places", running_.size());
  }
  for (const auto* queue : {&running_, &waiting_}) {
    for (size_t i = 0; i < queue->size(); ++i) {
      const Sequence& s = (*queue)[i];
      if (i > 0 && s.arrival <= (*queue)[i - 1].arrival) {
        return broken("a queue is not in order of arrival", s.id);
      }
      if (s.n_computed > s.tokens.size() || s.n_prompt > s.tokens.size()) {
        return broken("more tokens are computed than known", s.id);
      }
      if (queue == &waiting_ && s.n_computed != 0) {
        return broken("a waiting sequence has computed tokens", s.id);
      }
      if (queue == &running_ && !s.lease.covers(s.n_computed) &&
          s.n_computed > s.lease.n_cached()) {
        return broken("a running sequence's pages do not cover what is computed", s.id);
      }
    }
  }
  return {};
}

}  // namespace tempo9::sched
