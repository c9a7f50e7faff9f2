#include "engine/step_loop.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/check.h"
#include "engine/pool.h"

namespace tempo9::engine {
namespace {

// How often the memory that is left is looked at, which takes tens of microseconds: others take
// and give it, and what this process takes beside pages is not counted.
constexpr uint64_t kStepsBetweenLooks = 64;
constexpr uint64_t kGrowthBetweenLooks = uint64_t{16} << 20;

const Error kSinkFailed{ErrorCode::kInternal, "a part of the reply could not be passed on"};

// For the client of a request that what was thrown has ended. There may be no memory for words.
Error error_of(const std::exception& e) {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
  const ErrorCode code = is_memory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal;
  try {
    if (is_memory) {
      return make_error(code, "the server had no memory left for this request; try again");
    }
    return make_error(code, "the engine failed at this request: {}", e.what());
  } catch (const std::bad_alloc&) {
    return Error{code, {}};
  }
}

Event::Finish failure(const Error& error) {
  try {
    return {.reason = FinishReason::kError, .error = error};
  } catch (const std::bad_alloc&) {
    return {.reason = FinishReason::kError, .error = Error{error.code, {}}};
  }
}

}  // namespace

void refuse(const EventSink& sink, Event::Finish finish) {
  Event event;
  event.finish = std::move(finish);
  try {
    sink(std::move(event));
  } catch (const std::exception&) {
    // It knows itself that it has failed.
  }
}

StepLoop::Pages::Pages(const StepLoopOptions& options, kv::PageCopier* copier)
    : cache(options.cache, options.cache_secret, copier), scheduler(options.limits, &cache) {
  if (options.disk != nullptr) {
    offload.emplace(&cache, options.disk, options.disk_states, options.backend);
    scheduler.set_give_way([this] { return offload->give_way(); });
  }
}

StepLoop::StepLoop(const StepLoopOptions& options, const tokenizer::Tokenizer* tokenizer,
                   Executor* executor, kv::PageCopier* copier)
    : options_(options),
      tokenizer_(tokenizer),
      executor_(executor),
      copier_(copier),
      pages_(std::make_unique<Pages>(options_, copier)),
      reporter_(tokenizer, options.cache.state_bytes > 0) {
  T9_CHECK(uint64_t{options.cache.n_pages} * kv::kPageTokens >= options.max_length);
}

void StepLoop::submit(RequestId id, GenerateRequest request, uint64_t seed, EventSink sink) {
  const auto n_prompt = static_cast<uint32_t>(request.prompt.size());
  T9_CHECK(n_prompt > 0 && n_prompt <= options_.max_length);
  const uint32_t room = options_.max_length - n_prompt;
  const uint32_t max_new = std::min(request.max_tokens.value_or(room), room);
  std::unique_ptr<Active> active;
  try {
    active = std::make_unique<Active>(std::move(request), max_new, *tokenizer_);
    active->seed = seed;
    active->submitted = now();
    const auto [it, inserted] = active_.emplace(id, std::move(active));
    T9_CHECK(inserted);
    it->second->sink = std::move(sink);
  } catch (const std::exception& e) {
    refuse(sink, failure(error_of(e)));
    return;
  }
  try {
    begin_request(id);
  } catch (const std::exception& e) {
    recover(error_of(e));
    const auto it = active_.find(id);
    if (it != active_.end()) end_request(id, failure(error_of(e)));
  }
}

void StepLoop::begin_request(RequestId id) {
  Active& active = *active_.at(id);
  active.format = executor_->start(id, active.request, active.seed);
  // One that wants all rows computes all of its prompt anyway.
  const bool wants_all_rows =
      active.request.prompt_logprobs || pools_all_rows(active.request.pooling);
  std::optional<Offload>& offload = pages_->offload;
  if (!offload || wants_all_rows || !offload->begin(id, active.request.prompt)) schedule(id);
}

void StepLoop::schedule(RequestId id) {
  const GenerateRequest& request = active_.at(id)->request;
  pages_->scheduler.add({.id = id,
                         .prompt = request.prompt,
                         .all_logits = request.prompt_logprobs,
                         .all_states = pools_all_rows(request.pooling),
                         .session = request.session});
}

void StepLoop::cancel(RequestId id) {
  if (!active_.contains(id)) return;
  end_request(id, {.reason = FinishReason::kCancelled}, /*is_remembered=*/true);
}

void StepLoop::end_all(const Event::Finish& finish) {
  while (!active_.empty()) end_request(active_.begin()->first, finish);
}

// The reply has got no further than the last event that was sent. It ends also when there is no
// memory to say why.
void StepLoop::end_request(RequestId id, const Event::Finish& finish, bool is_remembered) {
  const std::unique_ptr<Active> active = std::move(active_.at(id));
  drop(id);
  Event event;
  try {
    if (active->reply.ended()) {
      event.finish = finish;
    } else {
      active->reply.end(finish, &event);
    }
  } catch (const std::exception&) {
    event = Event{};
    event.finish.emplace().reason = finish.reason;
  }
  send(active.get(), std::move(event));
  if (is_remembered) remember(active.get());
}

void StepLoop::drop(RequestId id) {
  if (pages_->offload) pages_->offload->cancel(id);
  pages_->scheduler.remove(id);
  executor_->end(id);
  active_.erase(id);
}

// The next turn of the conversation begins with prompt and reply.
void StepLoop::remember(Active* active) {
  try {
    std::vector<TokenId> tokens = std::move(active->request.prompt);
    tokens.insert(tokens.end(), active->output.begin(), active->output.end());
    reporter_.remember(std::move(tokens));
  } catch (const std::bad_alloc&) {
    // Reports are made without it.
  }
}

void StepLoop::report_lookup(RequestId id, Active* active) {
  CacheReport report = reporter_.report(active->request.prompt, active->cached);
  report.request = id;
  if (options_.on_report) {
    options_.on_report(report);
  }
  if (active->request.explain_cache) {
    active->report = std::make_shared<const CacheReport>(std::move(report));
  }
}

bool StepLoop::send(Active* active, Event event) {
  event.seed = active->seed;
  event.prompt_done = active->prompt_done;
  active->timing.now = to_seconds(now() - active->submitted);
  if (active->timing.first_token == 0 && !event.tokens.empty()) {
    active->timing.first_token = active->timing.now;
  }
  event.usage = {.prompt_tokens = static_cast<uint32_t>(active->request.prompt.size()),
                 .cached_tokens = active->cached.total(),
                 .cached = active->cached,
                 .completion_tokens = active->reply.n_tokens(),
                 .cache_report = active->report,
                 .timing = active->timing};
  try {
    event.format = active->format;
    active->sink(std::move(event));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// One that lacks a part of its text must not go on.
void StepLoop::send_or_end(RequestId id, Event event) {
  if (send(active_.at(id).get(), std::move(event))) return;
  end_request(id, failure(kSinkFailed));
}

void StepLoop::fail_step(std::span<const sched::Slice> slices, const Error& error) {
  std::vector<RequestId> ids;
  for (const sched::Slice& slice : slices) {
    ids.push_back(slice.id);
  }
  for (const RequestId id : ids) {
    end_request(id, error.code == ErrorCode::kCancelled
                        ? Event::Finish{.reason = FinishReason::kCancelled}
                        : failure(error));
  }
}

Status StepLoop::check_integrity() const {
  T9_TRY(pages_->scheduler.check_integrity());
  for (const auto& [id, active] : active_) {
    const bool is_loading = pages_->offload && pages_->offload->is_waiting(id);
    if (is_loading + pages_->scheduler.is_waiting(id) + pages_->scheduler.is_running(id) != 1) {
      return make_error(ErrorCode::kInternal, "step loop: request {} is in no queue, or in two",
                        id);
    }
  }
  return {};
}

void StepLoop::recover(const Error& error) {
  if (!check_integrity()) {
    start_over(error);
    return;
  }
  const auto runs = [this](const auto& entry) { return pages_->scheduler.is_running(entry.first); };
  for (auto it = active_.begin(); it != active_.end();) {
    it = std::find_if(it, active_.end(), runs);
    if (it == active_.end()) break;
    end_request((it++)->first, failure(error));
  }
}

void StepLoop::start_over(const Error& error) {
  if (pages_->offload) pages_->offload->give_up();
  pages_->scheduler.give_up();
  pages_->cache.give_up();
  n_preemptions_before_ += pages_->scheduler.n_preemptions();
  pages_ = std::make_unique<Pages>(options_, copier_);
  resident_at_look_ = 0;
  end_all(failure(error));
}

std::optional<Event> StepLoop::event_of(Active* active, const sched::Slice& slice,
                                        SliceOutcome outcome) {
  Event event;
  const auto n_prompt = static_cast<uint32_t>(active->request.prompt.size());
  active->cached = slice.cached;
  if (!std::exchange(active->looked_up, true)) {
    report_lookup(slice.id, active);
  }
  const uint32_t n_done = std::min(n_prompt, slice.n_past + outcome.n_rows);
  bool has_news = n_done > active->prompt_done;
  active->prompt_done = std::max(active->prompt_done, n_done);
  if (active->request.prompt_logprobs && active->prompt_infos.size() < n_prompt) {
    active->prompt_infos.resize(std::max<size_t>(1, active->prompt_infos.size()));
    active->prompt_infos[0].id = active->request.prompt[0];
    // A prompt that was read again after preemption: what is known already comes a second time.
    size_t position = slice.n_past + slice.first_logit_row + 1;
    for (TokenInfo& info : outcome.prompt) {
      if (position++ == active->prompt_infos.size()) {
        active->prompt_infos.push_back(std::move(info));
      }
    }
    if (active->prompt_infos.size() == n_prompt) {
      event.prompt_tokens = active->prompt_infos;
    }
  }
  if (slice.samples && outcome.n_rows == slice.tokens.size()) {
    has_news = true;
    if (active->request.pooling != Pooling::kNone) {
      event.embedding = std::move(outcome.embedding);
      active->reply.end(outcome.next.finish.value_or(Event::Finish{}), &event);
    } else if (active->max_new == 0) {
      active->reply.end({.reason = FinishReason::kLength}, &event);
    } else {
      active->reply.add(std::move(outcome.next), &event);
    }
  }
  return has_news ? std::optional(std::move(event)) : std::nullopt;
}

std::optional<Clock::Nanoseconds> StepLoop::step() {
  try {
    return run_step();
  } catch (const std::exception& e) {
    recover(error_of(e));
    return std::nullopt;
  }
}

std::optional<Clock::Nanoseconds> StepLoop::run_step() {
  if (pages_->offload) {
    for (const RequestId id : pages_->offload->poll()) {
      schedule(id);
    }
  }
  if (n_steps_ % kStepsBetweenLooks == 0 ||
      pages_->cache.resident_bytes() >= resident_at_look_ + kGrowthBetweenLooks) {
    look_at_memory();
  }
  const std::span<const sched::Slice> slices = pages_->scheduler.plan();
  if (slices.empty()) {
    T9_CHECK(pages_->offload && pages_->offload->has_waiting());
    return kUntilWoken;
  }
  return compute(slices);
}

std::optional<Clock::Nanoseconds> StepLoop::compute(std::span<const sched::Slice> slices) {
  const auto begin = now();
  for (const sched::Slice& slice : slices) {
    Active& active = *active_.at(slice.id);
    if (active.timing.started == 0) active.timing.started = to_seconds(begin - active.submitted);
  }
  auto outcomes = executor_->step(slices);
  ++n_steps_;
  if (!outcomes) {
    fail_step(slices, outcomes.error());
    return std::nullopt;
  }
  T9_CHECK(outcomes->size() == slices.size());

  struct Message {
    RequestId id;
    Event event;
  };
  std::vector<Message> messages;
  std::vector<sched::SliceResult> results(slices.size());
  bool any_done = false;
  for (size_t i = 0; i < slices.size(); ++i) {
    SliceOutcome& outcome = (*outcomes)[i];
    const bool samples = slices[i].samples && outcome.n_rows == slices[i].tokens.size();
    results[i].n_rows = outcome.n_rows;
    if (outcome.n_rows == 0) {
      continue;
    }
    any_done = true;
    for (const TokenInfo& info : outcome.next.tokens) {
      results[i].tokens.push_back(info.id);
    }
    Active* active = active_.at(slices[i].id).get();
    for (const sched::TokenId id : results[i].tokens) {
      active->output.push_back(id);
    }
    if (auto event = event_of(active, slices[i], std::move(outcome))) {
      messages.push_back({slices[i].id, std::move(*event)});
    }
    // A sequence that goes on needs a token to go on from.
    T9_CHECK(!samples || active->reply.ended() || !results[i].tokens.empty());
  }
  pages_->scheduler.apply(results,
                          std::chrono::duration<double, std::milli>(now() - begin).count());

  // Pages and places are free before a client learns that its request has ended.
  for (Message& message : messages) {
    const auto it = active_.find(message.id);
    if (!it->second->reply.ended()) {
      send_or_end(message.id, std::move(message.event));
      continue;
    }
    const std::unique_ptr<Active> active = std::move(it->second);
    drop(message.id);
    send(active.get(), std::move(message.event));
    remember(active.get());
  }
  return any_done ? std::nullopt : std::optional(executor_->next_due());
}

void StepLoop::rest() {
  if (pages_->offload) {
    pages_->offload->poll();
  }
  look_at_memory();
}

void StepLoop::look_at_memory() {
  if (!options_.spare_memory) {
    return;
  }
  int64_t spare = options_.spare_memory();
  pages_->cache.set_thrifty(spare < 0);
  if (spare < 0)
    spare += static_cast<int64_t>(pages_->cache.give_back(static_cast<uint64_t>(-spare)));
  resident_at_look_ = pages_->cache.resident_bytes();
  const int64_t limit = static_cast<int64_t>(resident_at_look_) + spare;
  // One request can always go on: its memory was there at the start.
  const uint64_t least = kv::sequence_bytes(options_.cache, options_.max_length);
  pages_->cache.set_limit(std::max(least, static_cast<uint64_t>(std::max<int64_t>(limit, 0))));
}

void StepLoop::drain_to_disk(std::chrono::steady_clock::time_point until) {
  if (pages_->offload) {
    pages_->offload->drain(until);
  }
}

Stats StepLoop::stats() const {
  return {.n_running = pages_->scheduler.n_running(),
          .n_waiting = static_cast<uint32_t>(active_.size()) - pages_->scheduler.n_running(),
          .n_steps = n_steps_,
          .n_preemptions = n_preemptions_before_ + pages_->scheduler.n_preemptions(),
          .kv_bytes = pages_->cache.memory_bytes(),
          .held_kv_bytes = pages_->cache.needed_bytes(),
          .resident_kv_bytes = pages_->cache.resident_bytes()};
}

}  // namespace tempo9::engine
