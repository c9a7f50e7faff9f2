#include <algorithm>
#include <utility>

#include "chat/parsers/marks.h"
#include "chat/parsers/plain.h"

namespace tempo9::chat {
namespace {

// Thinking stands at the head of a reply: once other text has come, <think> is text.
class ThinkingSplitter : public OutputParser {
 public:
  ThinkingSplitter(std::unique_ptr<OutputParser> rest, const std::vector<ThinkingMarks>& marks,
                   const ParserOptions& options)
      : rest_(std::move(rest)) {
    for (const ThinkingMarks& pair : marks) {
      marks_.push_back({Mark(std::string(pair.open), options.has_token),
                        Mark(std::string(pair.close), options.has_token), std::string(pair.label)});
    }
    if (!options.starts_in_thinking) return;
    state_ = State::kThinking;
    opened_by_prompt_ = true;
  }

  void feed(std::string_view increment, bool is_token, std::vector<Event>* out) override {
    feed_piece({std::string(increment), is_token}, out);
  }

  void finish(FinishReason reason, std::vector<Event>* out) override {
    if (state_ == State::kHead) hand_on(out);
    if (state_ == State::kThinking) emit(held_, out);
    rest_->finish(reason, out);
  }

 private:
  enum class State { kHead, kThinking, kRest };
  struct Marks {
    Mark open, close;
    std::string label;
  };

  void feed_piece(Piece piece, std::vector<Event>* out) {
    if (piece.text.empty()) return;
    switch (state_) {
      case State::kHead:
        head(std::move(piece), out);
        return;
      case State::kThinking:
        thinking(piece, out);
        return;
      case State::kRest:
        rest_->feed(piece.text, piece.is_token, out);
        return;
    }
  }

  // White space, and what may become <think>, waits.
  void head(Piece piece, std::vector<Event>* out) {
    const bool had_blank = is_blank(held_);
    held_ += piece.text;
    pieces_.push_back(piece);
    const std::string_view text = without_blank_start(held_);
    bool maybe = text.empty();
    for (size_t i = 0; i < marks_.size(); ++i) {
      const Mark& open = marks_[i].open;
      if (open.is(piece) && had_blank) return begin_thinking(i, "", out);
      if (open.needs_token) continue;
      if (text.starts_with(open.spelling)) {
        return begin_thinking(i, std::string(text.substr(open.spelling.size())), out);
      }
      maybe = maybe || std::string_view(open.spelling).starts_with(text);
    }
    if (!maybe) hand_on(out);
  }

  void begin_thinking(size_t used, std::string after, std::vector<Event>* out) {
    state_ = State::kThinking;
    used_ = used;
    held_.clear();
    pieces_.clear();
    started_ = false;
    opened_by_prompt_ = false;
    feed_piece({std::move(after), false}, out);
  }

  void hand_on(std::vector<Event>* out) {
    state_ = State::kRest;
    std::vector<Piece> pieces = std::exchange(pieces_, {});
    // White space behind a thinking block belongs to the template.
    bool leading = after_thinking_;
    for (const Piece& piece : pieces) {
      std::string_view text =
          leading ? without_blank_start(piece.text) : std::string_view(piece.text);
      leading = leading && text.empty();
      if (!text.empty()) rest_->feed(text, piece.is_token, out);
    }
    held_.clear();
  }

  // Only white space so far, and this is (or may become) a mark that the prompt has written
  // already: models repeat it.
  bool repeats_open(const Piece& piece) {
    if (!opened_by_prompt_ || started_ || !is_blank(held_)) return false;
    for (size_t i = 0; i < marks_.size(); ++i) {
      if (!marks_[i].open.is(piece)) continue;
      used_ = i;
      return true;
    }
    return false;
  }

  void thinking(const Piece& piece, std::vector<Event>* out) {
    // The prompt does not say which marks are used: all that close count then.
    for (size_t i = 0; i < marks_.size(); ++i) {
      if ((i == used_ || opened_by_prompt_) && marks_[i].close.is(piece))
        return end_thinking(std::exchange(held_, {}), "", out);
    }
    if (repeats_open(piece)) return begin_thinking(used_, "", out);
    held_ += piece.text;
    if (!started_ && wait_at_start(out)) return;
    size_t keep = 0, at = std::string::npos, behind = 0;
    for (size_t i = 0; i < marks_.size(); ++i) {
      const Mark& close = marks_[i].close;
      if (close.needs_token || (i != used_ && !opened_by_prompt_)) continue;
      const size_t found = held_.find(close.spelling);
      if (found < at) {
        at = found;
        behind = found + close.spelling.size();
      }
      keep = std::max(keep, partial_at_end(held_, close.spelling));
    }
    if (at != std::string::npos) {
      const std::string before = held_.substr(0, at);
      return end_thinking(before, held_.substr(behind), out);
    }
    const std::string_view ready =
        without_blank_end(std::string_view(held_).substr(0, held_.size() - keep));
    const size_t n = ready.size();
    emit(ready, out);
    held_.erase(0, n);
  }

  // Takes what belongs to the opening off the front of held_: the label, and a repeated mark.
  // True if it must wait for more, or has begun again.
  bool wait_at_start(std::vector<Event>* out) {
    const std::string_view text = without_blank_start(held_);
    for (size_t i = 0; opened_by_prompt_ && i < marks_.size(); ++i) {
      const std::string_view open = marks_[i].open.spelling;
      if (marks_[i].open.needs_token) continue;
      if (text.starts_with(open)) {
        begin_thinking(i, std::string(text.substr(open.size())), out);
        return true;
      }
      if (!text.empty() && open.starts_with(text)) return true;
    }
    const std::string& label = marks_[used_].label;
    if (label.empty() || opened_by_prompt_ || label_passed_) return false;
    if (std::string_view(label).starts_with(held_) && held_.size() < label.size()) return true;
    if (held_.starts_with(label)) held_.erase(0, label.size());
    label_passed_ = true;
    return held_.empty();
  }

  void end_thinking(std::string_view before, std::string after, std::vector<Event>* out) {
    emit(without_blank_end(before), out);
    state_ = State::kHead;
    after_thinking_ = true;
    opened_by_prompt_ = label_passed_ = false;
    held_.clear();
    pieces_.clear();
    feed_piece({std::move(after), false}, out);
  }

  void emit(std::string_view text, std::vector<Event>* out) {
    if (!started_) text = without_blank_start(text);
    if (text.empty()) return;
    started_ = true;
    out->emplace_back(std::in_place_type<ReasoningDelta>, std::string(text));
  }

  std::unique_ptr<OutputParser> rest_;
  std::vector<Marks> marks_;
  size_t used_ = 0;  // of marks_, kThinking
  State state_ = State::kHead;
  bool opened_by_prompt_ = false;
  bool label_passed_ = false;
  std::string held_;  // kHead: all since the head began; kThinking: white space and a partial mark
  std::vector<Piece> pieces_;  // kHead: the same, as it came
  bool after_thinking_ = false;
  bool started_ = false;  // some reasoning was emitted
};

}  // namespace

std::unique_ptr<OutputParser> make_thinking_splitter(std::unique_ptr<OutputParser> rest,
                                                     const std::vector<ThinkingMarks>& marks,
                                                     const ParserOptions& options) {
  if (marks.empty()) return rest;
  return std::make_unique<ThinkingSplitter>(std::move(rest), marks, options);
}

}  // namespace tempo9::chat
