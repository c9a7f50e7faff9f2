#include "engine/script_executor.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/check.h"

namespace tempo9::engine {
namespace {

Clock::Nanoseconds milliseconds(double ms) {
  return std::chrono::duration_cast<Clock::Nanoseconds>(
      std::chrono::duration<double, std::milli>(ms));
}

// The bytes of the character that starts text; one byte where none does.
size_t character_size(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t n = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return std::min(n, text.size());
}

TokenInfo certain(TokenId id, const std::optional<uint32_t>& n_logprobs) {
  TokenInfo info{.id = id, .logprob = std::nullopt, .top = {}};
  if (n_logprobs) {
    info.logprob = 0.0f;
    info.top.resize(std::min(*n_logprobs, 1u), {.id = id, .logprob = 0.0f});
  }
  return info;
}

}  // namespace

ScriptExecutor::ScriptExecutor(std::vector<ScriptLine> lines, const tokenizer::Tokenizer* tokenizer,
                               const Clock* clock)
    : lines_(std::move(lines)), used_(lines_.size(), false), tokenizer_(tokenizer), clock_(clock) {}

const ScriptLine* ScriptExecutor::choose(const std::string& match_text) {
  const ScriptLine* last = nullptr;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (match_text.find(lines_[i].when) == std::string::npos) {
      continue;
    }
    last = &lines_[i];
    if (!used_[i]) {
      used_[i] = true;
      return last;
    }
  }
  return last;
}

std::string ScriptExecutor::start(RequestId id, const GenerateRequest& request, uint64_t /*seed*/) {
  Playing playing;
  playing.request = &request;
  const ScriptLine* line = choose(request.match_text);
  if (line != nullptr) {
    playing.increments = increments_of(*line);
    playing.prefill_ms = line->prefill_ms;
    playing.delay_ms = line->delay_ms;
  } else {
    // Text from outside: a control token's spelling in it stays text.
    append_text(request.echo_text.empty() ? request.match_text : request.echo_text, false,
                &playing.increments);
    playing.increments.push_back(increments_of(ScriptLine{}).back());
  }
  const std::string format = line != nullptr ? line->format : std::string();
  const bool holds =
      format.empty() || request.rules_format.empty() || format == request.rules_format;
  if (request.rules != nullptr && holds) {
    if (auto constraint = request.rules->start()) {
      playing.constraint = std::move(*constraint);
    } else {
      playing.increments.resize(1);
      playing.increments[0] = {.tokens = {},
                               .bytes = std::nullopt,
                               .finish = Event::Finish{.reason = FinishReason::kError,
                                                       .error = std::move(constraint).error()}};
    }
  }
  playing_[id] = std::move(playing);
  return format;
}

void ScriptExecutor::end(RequestId id) { playing_.erase(id); }

// What the line says, and last an increment that ends the reply.
std::vector<Increment> ScriptExecutor::increments_of(const ScriptLine& line) const {
  std::vector<Increment> increments;
  if (line.has_pieces) {
    for (const std::string& piece : line.pieces) {
      append_piece(piece, &increments);
    }
  } else {
    append_text(line.text, true, &increments);
  }
  Increment last;
  switch (line.finish) {
    case ScriptFinish::kStop:
      if (tokenizer_->eos() >= 0) {
        last.tokens.push_back({.id = tokenizer_->eos(), .logprob = std::nullopt, .top = {}});
        last.bytes =
            "";  // an end token is never shown, also when ignore_eos takes it for an ordinary one
      }
      last.finish = {.reason = FinishReason::kStop};
      break;
    case ScriptFinish::kLength:
      last.finish = {.reason = FinishReason::kLength};
      break;
    case ScriptFinish::kError:
      last.finish = {
          .reason = FinishReason::kError,
          .error = make_error(ErrorCode::kInternal, "script line {}: the reply ends with an error",
                              line.number)};
      break;
  }
  increments.push_back(std::move(last));
  return increments;
}

// is_exact: whether the tokens' bytes say just that. A tokenizer may put a space in front or
// normalise.
std::vector<TokenId> ScriptExecutor::encode(std::string_view text, bool parse_control,
                                            bool* is_exact) const {
  std::vector<TokenId> ids;
  tokenizer_->encode(text, {.add_special = false, .parse_control = parse_control}, &ids);
  std::string bytes;
  for (const TokenId id : ids) {
    bytes.append(tokenizer_->token_bytes(id, true));
  }
  *is_exact = bytes == text;
  return ids;
}

void ScriptExecutor::append_text(std::string_view text, bool parse_control,
                                 std::vector<Increment>* out) const {
  bool is_exact = false;
  const std::vector<TokenId> ids = encode(text, parse_control, &is_exact);
  if (is_exact) {
    for (const TokenId id : ids) {
      out->push_back({.tokens = {{.id = id, .logprob = std::nullopt, .top = {}}},
                      .bytes = std::nullopt,
                      .finish = std::nullopt});
    }
    return;
  }
  while (!text.empty()) {
    const size_t n = character_size(text);
    append_piece(text.substr(0, n), out);
    text.remove_prefix(n);
  }
}

void ScriptExecutor::append_piece(std::string_view bytes, std::vector<Increment>* out) const {
  if (bytes.empty()) {
    return;
  }
  bool is_exact = false;
  Increment increment;
  for (const TokenId id : encode(bytes, true, &is_exact)) {
    increment.tokens.push_back({.id = id, .logprob = std::nullopt, .top = {}});
  }
  if (!is_exact) {
    increment.bytes = std::string(bytes);
  }
  out->push_back(std::move(increment));
}

// When the first n_rows of the slice are done: their share of the prompt's time, and the pause
// before an increment.
Clock::Nanoseconds ScriptExecutor::due(Playing* playing, const sched::Slice& slice,
                                       uint32_t n_rows) const {
  if (playing->waiting_n_past != slice.n_past) {
    playing->waiting_n_past = slice.n_past;
    playing->waiting_since = clock_->now();
  }
  double ms = 0.0;
  const auto n_prompt = static_cast<uint32_t>(playing->request->prompt.size());
  if (slice.n_past < n_prompt) {
    const auto n_end = std::min(n_prompt, slice.n_past + n_rows);
    ms += playing->prefill_ms * (n_end - slice.n_past) / (n_prompt - slice.cached.total());
  }
  const bool says_something = playing->next + 1 < playing->increments.size();
  if (slice.samples && n_rows == slice.tokens.size() && says_something) {
    ms += playing->delay_ms;
  }
  return playing->waiting_since + milliseconds(ms);
}

// Cuts the increment before what the constraint forbids, and ends the reply there.
Status ScriptExecutor::hold_to_rules(grammar::Constraint* constraint, Increment* increment) const {
  bool allowed = true;
  if (increment->finish) {
    allowed = increment->finish->reason != FinishReason::kStop || constraint->can_end();
    if (allowed) return {};
    increment->tokens.clear();
  } else if (increment->bytes) {
    T9_TRY(allowed, constraint->accept_text(*increment->bytes));
    if (allowed) return {};
    increment->tokens.clear();
    increment->bytes.reset();
  } else {
    size_t n = 0;
    for (; n < increment->tokens.size(); ++n) {
      T9_TRY(allowed,
             constraint->accept_text(tokenizer_->token_bytes(increment->tokens[n].id, true)));
      if (!allowed) break;
    }
    if (allowed) return {};
    increment->tokens.resize(n);
  }
  increment->finish = {.reason =
                           constraint->can_end() ? FinishReason::kStop : FinishReason::kLength};
  return {};
}

// The line's thinking ends here: what it still thinks is left out, and it goes on behind its own
// mark. A line that never stops thinking has nothing more to say.
void ScriptExecutor::cut_thinking(const std::string& mark, Playing* playing) const {
  std::vector<Increment> rest;
  append_piece(mark, &rest);
  std::string said;
  for (size_t i = playing->next; i + 1 < playing->increments.size(); ++i) {
    const Increment& increment = playing->increments[i];
    if (increment.bytes) said += *increment.bytes;
    for (size_t k = 0; !increment.bytes && k < increment.tokens.size(); ++k)
      said += tokenizer_->token_bytes(increment.tokens[k].id, true);
    const size_t at = said.find(mark);
    if (at == std::string::npos) continue;
    append_piece(std::string_view(said).substr(at + mark.size()), &rest);
    playing->next = i + 1;
    break;
  }
  const bool is_found = said.find(mark) != std::string::npos;
  const size_t from = is_found ? playing->next : playing->increments.size() - 1;
  std::move(playing->increments.begin() + static_cast<std::ptrdiff_t>(from),
            playing->increments.end(), std::back_inserter(rest));
  playing->increments = std::move(rest);
  playing->next = 0;
}

Result<std::vector<SliceOutcome>> ScriptExecutor::step(std::span<const sched::Slice> slices) {
  std::vector<SliceOutcome> outcomes(slices.size());
  next_due_ = Clock::Nanoseconds::max();
  for (size_t i = 0; i < slices.size(); ++i) {
    const sched::Slice& slice = slices[i];
    SliceOutcome& outcome = outcomes[i];
    const auto it = playing_.find(slice.id);
    T9_CHECK(it != playing_.end());
    Playing& playing = it->second;
    auto n_rows = static_cast<uint32_t>(slice.tokens.size());
    if (slice.samples && n_rows > 1 && playing.delay_ms > 0.0) {
      --n_rows;  // the prompt is read before the pause begins, and others may use it meanwhile
    }
    const Clock::Nanoseconds when = due(&playing, slice, n_rows);
    if (clock_->now() < when) {
      next_due_ = std::min(next_due_, when);
      continue;
    }
    playing.waiting_n_past = ~0u;
    outcome.n_rows = n_rows;
    const std::vector<TokenId>& prompt = playing.request->prompt;
    for (size_t r = slice.first_logit_row; r < n_rows; ++r) {
      if (const size_t position = slice.n_past + r + 1; position < prompt.size()) {
        outcome.prompt.push_back(certain(prompt[position], playing.request->n_logprobs));
      }
    }
    const bool samples = slice.samples && n_rows == slice.tokens.size();
    if (samples && playing.next < playing.increments.size()) {
      if (playing.constraint != nullptr) {
        const std::string mark = playing.constraint->forced_text();
        if (!mark.empty()) cut_thinking(mark, &playing);
      }
      outcome.next = std::move(playing.increments[playing.next++]);
      if (playing.constraint != nullptr) {
        T9_TRY(hold_to_rules(playing.constraint.get(), &outcome.next));
      }
      for (TokenInfo& info : outcome.next.tokens) {
        info = certain(info.id, playing.request->n_logprobs);
      }
    }
  }
  return outcomes;
}

}  // namespace tempo9::engine
