#include "engine/reply.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tempo9::engine {

Reply::Reply(const GenerateRequest& request, uint32_t max_new,
             const tokenizer::Tokenizer& tokenizer)
    : request_(request), tokenizer_(tokenizer), max_new_(max_new), stops_(request.stop) {}

bool Reply::is_end_token(TokenId id) const {
  return (!request_.ignore_eos && tokenizer_.ends_generation(id)) ||
         std::ranges::find(request_.stop_token_ids, id) != request_.stop_token_ids.end();
}

// Output parsers want to know a control token from the same letters written as text.
bool Reply::is_mark(TokenId id) const {
  const tokenizer::TokenType type = tokenizer_.type(id);
  return request_.spell_control &&
         (type == tokenizer::TokenType::kControl || type == tokenizer::TokenType::kUserDefined);
}

void Reply::show(std::string_view bytes, bool is_mark) {
  std::string characters;
  characters_.push(bytes, &characters);
  n_characters_ += characters.size();
  if (is_mark && !bytes.empty() && characters.ends_with(bytes)) {
    marks_.emplace_back(n_characters_ - bytes.size(), n_characters_);
  }
  stops_.push(characters, &ready_);
}

// Moves what is ready into the event. A mark of which a stop string's possible beginning holds back
// a part waits whole.
void Reply::release(Event* event) {
  uint64_t end = n_shown_ + ready_.size();
  for (const auto& [mark_begin, mark_end] : marks_) {
    if (!ended_ && mark_begin < end && end < mark_end) {
      end = mark_begin;
    }
  }
  const uint64_t base = n_shown_ - event->text.size();
  while (!marks_.empty() && marks_.front().second <= end) {
    event->marks.emplace_back(static_cast<uint32_t>(marks_.front().first - base),
                              static_cast<uint32_t>(marks_.front().second - base));
    marks_.pop_front();
  }
  event->text.append(ready_, 0, end - n_shown_);
  ready_.erase(0, end - n_shown_);
  n_shown_ = end;
}

void Reply::add(Increment increment, Event* event) {
  T9_CHECK(!ended_);
  const size_t n = increment.tokens.size();
  for (size_t i = 0; i < n; ++i) {
    if (n_tokens_ == max_new_) {
      end({.reason = FinishReason::kLength}, event);
      return;
    }
    TokenInfo& info = increment.tokens[i];
    const TokenId id = info.id;
    ++n_tokens_;
    event->tokens.push_back(std::move(info));
    if (is_end_token(id)) {
      end({.reason = FinishReason::kStop}, event);
      return;
    }
    if (!increment.bytes) {
      show(tokenizer_.token_bytes(id, request_.spell_control), is_mark(id));
    } else if (i + 1 == n) {
      show(*increment.bytes, false);
    }
    if (stops_.matched()) {
      end({.reason = FinishReason::kStop}, event);
      return;
    }
  }
  if (n == 0 && increment.bytes) {
    show(*increment.bytes, false);
  }
  if (stops_.matched()) {
    end({.reason = FinishReason::kStop}, event);
  } else if (increment.finish) {
    end(std::move(*increment.finish), event);
  } else if (n_tokens_ == max_new_) {
    end({.reason = FinishReason::kLength}, event);
  } else {
    release(event);
  }
}

void Reply::end(Event::Finish finish, Event* event) {
  T9_CHECK(!ended_);
  ended_ = true;
  if (!stops_.matched()) {
    std::string characters;
    characters_.flush(&characters);
    stops_.push(characters, &ready_);
    if (!stops_.matched()) {
      stops_.flush(&ready_);
    }
  }
  release(event);
  finish.stop_string = stops_.matched();
  event->finish = std::move(finish);
}

}  // namespace tempo9::engine
