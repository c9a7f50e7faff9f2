// Blocks of calls in text, whatever the format: each begins with a mark, and what follows is the
// format's read function's. Besides, for the models that write such, calls without any mark:
//   - a fence on a line of its own that holds exactly calls of declared tools: calls, also with
//     prose around it (whoever declares tools gets the call, unless Prose knows it for an example);
//   - bare calls from the start of a line on: calls if the reply ends with them.
//
// A call goes out when it is complete. Until then it is held, and what turns out to be none is read
// again as text, so that nothing is lost and no cut makes a difference.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "chat/parsers/bare_calls.h"
#include "chat/parsers/format.h"
#include "chat/parsers/marks.h"
#include "chat/parsers/prose.h"

namespace tempo9::chat {
namespace {

class CallMachine : public OutputParser {
 public:
  CallMachine(OutputFormat format, const ParserOptions& options)
      : format_(std::move(format)),
        tools_(options.tools),
        has_token_(options.has_token),
        id_seed_(options.id_seed) {
    for (const std::string_view opening : format_.openings) {
      openings_.emplace_back(std::string(opening), has_token_);
    }
  }

  void feed(std::string_view increment, bool is_token, std::vector<Event>* out) override {
    // Text that turns out to be no call is read again, so pieces are kept small.
    constexpr size_t kPiece = 1024;
    if (is_token) {
      todo_.push_back({std::string(increment), true});
    } else {
      while (!increment.empty()) {
        size_t n = std::min(kPiece, increment.size());
        while (n < increment.size() && (increment[n] & 0xC0) == 0x80) ++n;  // characters stay whole
        todo_.push_back({std::string(increment.substr(0, n)), false});
        increment.remove_prefix(n);
      }
    }
    work(out);
  }

  void finish(FinishReason reason, std::vector<Event>* out) override {
    is_last_ = true;
    const bool stopped = reason == FinishReason::kStop;
    // What is given up may hold another call when it is read again.
    for (;;) {
      if (state_ == State::kText) {
        text({}, out);
      } else if (state_ == State::kBlock) {
        read_block(stopped ? Reader::Ending::kStopped : Reader::Ending::kCut, out);
      } else if (const std::vector<ParsedCall> calls = bare_->finish(stopped); !calls.empty()) {
        deliver(calls, out);
        return;
      } else {
        give_up_bare();
      }
      if (todo_.empty() && state_ == State::kText) break;
      is_last_ = false;
      work(out);
      is_last_ = true;
    }
    if (!after_call_ || !is_blank(held_)) emit(held_, out);
    held_.clear();
  }

 private:
  enum class State { kText, kBare, kBlock };

  void work(std::vector<Event>* out) {
    while (!todo_.empty()) {
      Piece piece = std::move(todo_.front());
      todo_.pop_front();
      if (piece.text.empty()) continue;
      switch (state_) {
        case State::kText:
          text(piece, out);
          break;
        case State::kBare:
          bare(std::move(piece), out);
          break;
        case State::kBlock:
          block_.append(piece);
          read_block(Reader::Ending::kOpen, out);
          break;
      }
    }
  }

  void read_again(std::vector<Piece> pieces) {
    todo_.insert(todo_.begin(), std::make_move_iterator(pieces.begin()),
                 std::make_move_iterator(pieces.end()));
  }

  // ---- text around calls

  // held_ has been looked through up to n_scanned_: that is text, and what stands behind may become
  // a call.
  void text(const Piece& piece, std::vector<Event>* out) {
    if (piece.is_token && is_opening(piece)) {
      while (n_scanned_ < held_.size()) pass(true);
      if (!prose_.quotes()) {
        begin_block(piece, {}, out);
        return;
      }
      held_ += piece.text;
      n_scanned_ = held_.size();
      return;
    }
    held_ += piece.text;
    while (n_scanned_ < held_.size()) {
      const std::string_view rest = std::string_view(held_).substr(n_scanned_);
      bool maybe = false;
      const Mark* mark = opening_at(rest, &maybe);
      if (maybe && !is_last_) break;
      if (mark != nullptr && !prose_.quotes()) {
        std::string after(rest.substr(mark->spelling.size()));
        held_.resize(n_scanned_);
        begin_block({mark->spelling, false}, std::move(after), out);
        return;
      }
      if (begins_bare(rest)) {
        std::string after(rest);
        held_.resize(n_scanned_);
        begin_bare(std::move(after), out);
        return;
      }
      if (!pass(is_last_)) break;
    }
    flush(out);
  }

  bool pass(bool is_last) {
    const size_t n = prose_.pass(std::string_view(held_).substr(n_scanned_), is_last);
    n_scanned_ += n;
    if (n > 0) bare_refused_ = false;
    return n > 0;
  }

  bool is_opening(const Piece& piece) const {
    return std::any_of(openings_.begin(), openings_.end(),
                       [&](const Mark& mark) { return mark.is(piece); });
  }

  const Mark* opening_at(std::string_view rest, bool* maybe) const {
    for (const Mark& mark : openings_) {
      if (mark.needs_token) continue;
      if (rest.starts_with(mark.spelling)) return &mark;
      if (std::string_view(mark.spelling).starts_with(rest)) *maybe = true;
    }
    return nullptr;
  }

  bool begins_bare(std::string_view rest) const {
    if (format_.bare == BareCallStyle::kNone || bare_refused_ || !prose_.at_line_start() ||
        prose_.in_fence())
      return false;
    return std::string_view("`{[<").find(rest.front()) != std::string_view::npos;
  }

  // Sends what is known to be text; white space at its end waits for what follows.
  void flush(std::vector<Event>* out) {
    const std::string_view ready = without_blank_end(std::string_view(held_).substr(0, n_scanned_));
    const size_t n = ready.size();
    emit(ready, out);
    held_.erase(0, n);
    n_scanned_ -= n;
  }

  void emit(std::string_view text, std::vector<Event>* out) {
    if (after_call_ && !has_text_) text = without_blank_start(text);
    if (text.empty()) return;
    after_call_ = false;
    has_text_ = true;
    out->emplace_back(std::in_place_type<TextDelta>, std::exchange(separator_, {}).append(text));
  }

  // Leaves the text in held_ for what may be a call.
  void leave_text(State state, std::vector<Event>* out) {
    n_scanned_ = held_.size();
    flush(out);
    blank_before_ = std::exchange(held_, {});
    n_scanned_ = 0;
    state_ = state;
  }

  // ---- calls without a mark

  void begin_bare(std::string rest, std::vector<Event>* out) {
    leave_text(State::kBare, out);
    bare_.emplace(tools_, format_.bare);
    pieces_.clear();
    todo_.push_front({std::move(rest), false});
  }

  void bare(Piece piece, std::vector<Event>* out) {
    bool possible = !(piece.is_token && is_opening(piece)) || bare_->in_string();
    for (size_t i = 0; possible && i < piece.text.size(); ++i) {
      possible = bare_->feed(piece.text[i]);
      if (possible && bare_->closed()) {
        deliver(bare_->calls(), out);
        state_ = State::kText;
        prose_.resume(true);
        todo_.push_front({piece.text.substr(i + 1), false});
        return;
      }
    }
    pieces_.push_back(std::move(piece));
    if (!possible) give_up_bare();
  }

  void give_up_bare() {
    state_ = State::kText;
    held_ = std::exchange(blank_before_, {});
    n_scanned_ = held_.size();
    bare_refused_ = true;  // where it began it is known now that no call does
    read_again(std::exchange(pieces_, {}));
  }

  // ---- blocks

  void begin_block(Piece mark, std::string after, std::vector<Event>* out) {
    leave_text(State::kBlock, out);
    block_.clear();
    memo_.clear();
    mark_size_ = mark.text.size();
    read_at_ = n_in_block_ = 0;
    // The mark alone decides nothing.
    block_.append(mark);
    if (!after.empty()) todo_.push_front({std::move(after), false});
  }

  void read_block(Reader::Ending ending, std::vector<Event>* out) {
    while (state_ == State::kBlock) {
      Reader in(block_, read_at_, has_token_, ending, &memo_);
      std::vector<ParsedCall> calls;
      Block block{tools_, n_in_block_, &calls, false};
      format_.read(in, block);
      if (in.needs_more()) return;
      const bool moved = in.good() && in.position() > read_at_;
      if (!in.good() || (n_in_block_ == 0 && calls.empty() && !block.may_go_on)) {
        end_block(n_in_block_ > 0, out);
        return;
      }
      read_at_ = in.position();
      memo_.clear();
      n_in_block_ += calls.size();
      if (!calls.empty()) deliver(calls, out);
      if (!block.may_go_on || !moved) end_block(n_in_block_ > 0, out);
    }
  }

  // Behind the block's last call text goes on. A block without calls is text: its mark is known to
  // begin none, and what follows may hold another.
  void end_block(bool had_calls, std::vector<Event>* out) {
    state_ = State::kText;
    if (had_calls) {
      prose_.resume(false);
    } else {
      held_ = std::exchange(blank_before_, {});
      n_scanned_ = held_.size();
      held_ += block_.bytes().substr(0, mark_size_);
      while (n_scanned_ < held_.size()) pass(true);
      flush(out);
      read_at_ = mark_size_;
    }
    read_again(block_.pieces(read_at_));
    block_.clear();
  }

  void deliver(const std::vector<ParsedCall>& calls, std::vector<Event>* out) {
    for (const ParsedCall& parsed : calls) append_call(parsed, n_calls_++, id_seed_, out);
    after_call_ = true;
    if (has_text_) separator_ += blank_before_;
    blank_before_.clear();
    pieces_.clear();
  }

  const OutputFormat format_;
  const std::vector<Tool> tools_;
  const VocabLookup has_token_;
  const uint64_t id_seed_;
  std::vector<Mark> openings_;

  std::deque<Piece> todo_;  // to be read, or to be read again
  State state_ = State::kText;
  bool is_last_ = false;  // no more text comes
  int n_calls_ = 0;
  bool after_call_ = false;   // a call was the last thing delivered
  bool has_text_ = false;     // some text was delivered
  std::string separator_;     // white space before the calls since then: goes out if text follows
  std::string blank_before_;  // kBare, kBlock: white space before it

  // kText
  std::string held_;
  size_t n_scanned_ = 0;
  Prose prose_;
  bool bare_refused_ = false;

  // kBare
  std::optional<BareCalls> bare_;
  std::vector<Piece> pieces_;  // all that came

  // kBlock
  MarkedText block_;  // from its opening mark on
  ReadMemo memo_;
  size_t mark_size_ = 0, read_at_ = 0, n_in_block_ = 0;
};

}  // namespace

std::unique_ptr<OutputParser> make_call_machine(OutputFormat format, const ParserOptions& options) {
  return std::make_unique<CallMachine>(std::move(format), options);
}

}  // namespace tempo9::chat
