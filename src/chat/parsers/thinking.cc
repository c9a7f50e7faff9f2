#include <utility>

#include "chat/parsers/marks.h"
#include "chat/parsers/plain.h"

namespace tempo9::chat {
namespace {

// Thinking stands at the head of a reply: once other text has come, <think> is text.
class ThinkingSplitter : public OutputParser {
 public:
  ThinkingSplitter(std::unique_ptr<OutputParser> rest, const ParserOptions& options)
      : rest_(std::move(rest)),
        open_("<think>", options.has_token),
        close_("</think>", options.has_token),
        state_(options.starts_in_thinking ? State::kThinking : State::kHead) {}

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
    bool opens = open_.is(piece) && is_blank(held_);
    held_ += piece.text;
    pieces_.push_back(std::move(piece));
    if (opens) {
      begin_thinking("", out);
      return;
    }
    std::string_view text = without_blank_start(held_);
    if (text.empty()) return;
    if (!open_.needs_token) {
      if (text.starts_with(open_.spelling)) {
        begin_thinking(std::string(text.substr(open_.spelling.size())), out);
        return;
      }
      if (std::string_view(open_.spelling).starts_with(text)) return;
    }
    hand_on(out);
  }

  void begin_thinking(std::string after, std::vector<Event>* out) {
    state_ = State::kThinking;
    held_.clear();
    pieces_.clear();
    started_ = false;
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

  void thinking(const Piece& piece, std::vector<Event>* out) {
    if (close_.is(piece)) {
      end_thinking(held_, "", out);
      return;
    }
    held_ += piece.text;
    size_t keep = 0;
    if (!close_.needs_token) {
      size_t found = held_.find(close_.spelling);
      if (found != std::string::npos) {
        std::string before = held_.substr(0, found),
                    after = held_.substr(found + close_.spelling.size());
        end_thinking(before, std::move(after), out);
        return;
      }
      keep = partial_at_end(held_, close_.spelling);
    }
    std::string_view ready =
        without_blank_end(std::string_view(held_).substr(0, held_.size() - keep));
    size_t n = ready.size();
    emit(ready, out);
    held_.erase(0, n);
  }

  void end_thinking(std::string_view before, std::string after, std::vector<Event>* out) {
    emit(without_blank_end(before), out);
    state_ = State::kHead;
    after_thinking_ = true;
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
  Mark open_, close_;
  State state_;
  std::string held_;  // kHead: all since the head began; kThinking: white space and a partial mark
  std::vector<Piece> pieces_;  // kHead: the same, as it came
  bool after_thinking_ = false;
  bool started_ = false;  // some reasoning was emitted
};

}  // namespace

std::unique_ptr<OutputParser> make_thinking_splitter(std::unique_ptr<OutputParser> rest,
                                                     const ParserOptions& options) {
  return std::make_unique<ThinkingSplitter>(std::move(rest), options);
}

}  // namespace tempo9::chat
