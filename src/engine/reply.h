// One request's reply as it grows: from tokens to shown text and the reason why it ends. No
// scheduling, no threads.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/stop_matcher.h"
#include "engine/utf8_assembler.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::engine {

class Reply {
 public:
  // request and tokenizer must outlive the reply. max_new: the most tokens that it may have.
  Reply(const GenerateRequest& request, uint32_t max_new, const tokenizer::Tokenizer& tokenizer);

  // Takes what follows, token by token, until the reply ends: end token, stop string, max_new, or
  // the increment's own end. What comes after that is dropped. Fills text, marks, tokens and
  // finish.
  void add(Increment increment, Event* event);
  // Ends it with nothing more to come (cancelled, failed, no room): what was held back is shown.
  void end(Event::Finish finish, Event* event);

  bool ended() const { return ended_; }
  uint32_t n_tokens() const { return n_tokens_; }

 private:
  bool is_end_token(TokenId id) const;
  bool is_mark(TokenId id) const;
  void show(std::string_view bytes, bool is_mark);
  void release(Event* event);

  const GenerateRequest& request_;
  const tokenizer::Tokenizer& tokenizer_;
  uint32_t max_new_;
  uint32_t n_tokens_ = 0;
  bool ended_ = false;
  Utf8Assembler characters_;
  StopMatcher stops_;
  // Text counts from the start of the reply in all of these.
  std::string ready_;                                // past the stop strings, not yet in an event
  uint64_t n_shown_ = 0;                             // bytes in events
  uint64_t n_characters_ = 0;                        // bytes that went into stops_
  std::deque<std::pair<uint64_t, uint64_t>> marks_;  // [begin, end), not yet in an event
};

}  // namespace tempo9::engine
