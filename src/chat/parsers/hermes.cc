// "hermes": calls as JSON in <tool_call> tags (Hermes 2 Pro, Qwen2.5, Qwen3...), or without them,
// as small models write:
//   - a fence on a line of its own that holds exactly calls of declared tools: calls, also with
//   prose
//     around it (an example in an explanation looks the same; whoever declares tools gets the
//     call);
//   - bare JSON from the start of a line on: calls if the reply ends with it.
//
// A call goes out when it is complete: its tag or fence closed, its JSON valid. Until then it is
// held, and what turns out to be none is read again as text, so that nothing is lost and no cut
// makes a difference.
#include <algorithm>
#include <optional>
#include <utility>

#include "chat/parsers/bare_calls.h"
#include "chat/parsers/call.h"
#include "chat/parsers/json_scanner.h"
#include "chat/parsers/marks.h"

namespace tempo9::chat {
namespace {

class HermesParser : public OutputParser {
 public:
  explicit HermesParser(const ParserOptions& options)
      : tools_(options.tools),
        id_seed_(options.id_seed),
        open_("<tool_call>", options.has_token),
        close_("</tool_call>", options.has_token) {
    bare_.emplace(tools_);
  }

  void feed(std::string_view increment, bool is_token, std::vector<Event>* out) override {
    if (!increment.empty()) feed_piece({std::string(increment), is_token}, out);
  }

  void finish(FinishReason reason, std::vector<Event>* out) override {
    bool stopped = reason == FinishReason::kStop;
    // What is given up may hold another call when it is read again.
    while (state_ != State::kText) {
      if (state_ == State::kBare) {
        std::vector<ParsedCall> calls = bare_->finish(stopped);
        if (!calls.empty()) {
          deliver(calls, out);
          return;
        }
        give_up_bare(out);
        continue;
      }
      bool complete = stopped && !values_.empty() && !scanning_ &&
                      (is_blank(tail_) || close_.spelling.starts_with(without_blank_start(tail_)));
      if (complete && deliver_values(out)) return;
      give_up_call(out);
    }
    if (!after_call_ || !is_blank(held_)) emit(held_, out);
  }

 private:
  enum class State { kBare, kText, kCall };

  void feed_piece(Piece piece, std::vector<Event>* out) {
    switch (state_) {
      case State::kBare:
        bare(std::move(piece), out);
        return;
      case State::kText:
        text(piece, out);
        return;
      case State::kCall:
        call(std::move(piece), out);
        return;
    }
  }

  // ---- calls without a tag: at the start of the reply, behind a fence, or where text() saw one

  void bare(Piece piece, std::vector<Event>* out) {
    bool possible = !open_.is(piece) || bare_->in_string();
    for (size_t i = 0; possible && i < piece.text.size(); ++i) {
      possible = bare_->feed(piece.text[i]);
      if (possible && bare_->closed()) {
        deliver(bare_->calls(), out);
        state_ = State::kBare;
        bare_.emplace(tools_);
        if (i + 1 < piece.text.size()) feed_piece({piece.text.substr(i + 1), false}, out);
        return;
      }
    }
    pieces_.push_back(std::move(piece));
    if (!possible) give_up_bare(out);
  }

  // held_ is the text before it, rest what may be a call.
  void begin_bare(std::string rest, std::vector<Event>* out) {
    begin(State::kBare, out);
    bare_.emplace(tools_);
    bare_in_text_ = true;
    feed_piece({std::move(rest), false}, out);
  }

  void give_up_bare(std::vector<Event>* out) {
    state_ = State::kText;
    held_ = std::exchange(blank_before_, {});
    n_scanned_ = held_.size();
    // In text it is known now that no call begins here.
    at_line_start_ = !std::exchange(bare_in_text_, false);
    if (!at_line_start_) {
      std::string start;
      for (size_t i = 0; i < pieces_.size() && start.size() < 3; ++i) start += pieces_[i].text;
      in_code_ = start.starts_with("```");
    }
    for (Piece& piece : std::exchange(pieces_, {})) feed_piece(std::move(piece), out);
  }

  // ---- text around calls

  void text(const Piece& piece, std::vector<Event>* out) {
    if (open_.is(piece)) {
      begin_call("", out);
      return;
    }
    held_ += piece.text;
    size_t mark = open_.needs_token ? std::string::npos : held_.find(open_.spelling);
    if (find_bare(std::min(mark, held_.size()))) {
      std::string rest = held_.substr(n_scanned_);
      held_.resize(n_scanned_);
      begin_bare(std::move(rest), out);
      return;
    }
    if (mark != std::string::npos) {
      std::string after = held_.substr(mark + open_.spelling.size());
      held_.resize(mark);
      begin_call(std::move(after), out);
      return;
    }
    size_t keep = open_.needs_token ? 0 : partial_at_end(held_, open_.spelling);
    keep = std::max(keep, held_.size() - n_scanned_);
    std::string_view ready =
        without_blank_end(std::string_view(held_).substr(0, held_.size() - keep));
    size_t n = ready.size();
    emit(ready, out);
    held_.erase(0, n);
    n_scanned_ -= n;
  }

  // Scans held_ up to end for the first character of a line that may begin a call; stops at it.
  // Lines of a fence with something else in it begin none.
  bool find_bare(size_t end) {
    for (; n_scanned_ < end; ++n_scanned_) {
      char c = held_[n_scanned_];
      if (c == '\n') at_line_start_ = true;
      if (c == '\n' || c == ' ' || c == '\t' || c == '\r') continue;
      if (at_line_start_ && in_code_ && c == '`') {
        std::string_view fence = std::string_view(held_).substr(n_scanned_, 3);
        if (fence.size() < 3 && fence.find_first_not_of('`') == std::string_view::npos) {
          return false;  // three of them end the fence: more must come first
        }
        if (fence == "```") {
          in_code_ = false;
          n_scanned_ += 2;
        }
      } else if (at_line_start_ && !in_code_ && (c == '`' || c == '{' || c == '[')) {
        return true;
      }
      at_line_start_ = false;
    }
    return false;
  }

  void emit(std::string_view text, std::vector<Event>* out) {
    if (after_call_ && !has_text_) text = without_blank_start(text);
    if (text.empty()) return;
    after_call_ = false;
    has_text_ = true;
    out->emplace_back(std::in_place_type<TextDelta>, std::exchange(separator_, {}).append(text));
  }

  // Leaves the text in held_ for what may be a call.
  void begin(State state, std::vector<Event>* out) {
    emit(without_blank_end(held_), out);
    blank_before_ = held_.substr(without_blank_end(held_).size());
    held_.clear();
    n_scanned_ = 0;
    state_ = state;
    pieces_.clear();
  }

  // ---- inside a tag

  // held_ is the text before the mark.
  void begin_call(std::string after, std::vector<Event>* out) {
    begin(State::kCall, out);
    values_.clear();
    tail_.clear();
    scanning_ = false;
    if (!after.empty()) feed_piece({std::move(after), false}, out);
  }

  void call(Piece piece, std::vector<Event>* out) {
    bool in_string = scanning_ && json_.in_string();
    if (close_.is(piece) && !in_string) {
      pieces_.push_back(std::move(piece));
      end_call("", out);
      return;
    }
    if (open_.is(piece) && !in_string) {  // the tag before was not closed
      reopen(std::move(piece), out);
      return;
    }
    pieces_.push_back(piece);
    for (size_t i = 0; i < piece.text.size(); ++i) {
      Found found = scan(piece.text[i]);
      if (found == Found::kMore) continue;
      std::string after = piece.text.substr(i + 1);
      if (found == Found::kBad) {
        give_up_call(out);
      } else {
        pieces_.back().text.resize(i + 1);
        if (found == Found::kClose)
          end_call(std::move(after), out);
        else
          spelled_open(std::move(after), out);
      }
      return;
    }
  }

  enum class Found { kMore, kClose, kOpen, kBad };

  // One byte of the body. Between values only white space and the marks may stand.
  Found scan(char c) {
    if (scanning_) {
      value_ += c;
      JsonScanner::Step step = json_.feed(c);
      if (step == JsonScanner::Step::kError) return Found::kBad;
      if (step == JsonScanner::Step::kEnd) {
        values_.push_back(std::exchange(value_, {}));
        scanning_ = false;
        tail_.clear();
      }
      return Found::kMore;
    }
    tail_ += c;
    std::string_view mark = without_blank_start(tail_);
    if (mark.empty()) return Found::kMore;
    if (mark.size() == 1 && (c == '{' || c == '[')) {
      json_ = JsonScanner();
      value_.assign(1, c);
      json_.feed(c);
      scanning_ = true;
      return Found::kMore;
    }
    if (!close_.needs_token && close_.spelling.starts_with(mark)) {
      return mark == close_.spelling ? Found::kClose : Found::kMore;
    }
    if (!open_.needs_token && !values_.empty() && open_.spelling.starts_with(mark)) {
      return mark == open_.spelling ? Found::kOpen : Found::kMore;
    }
    return Found::kBad;
  }

  bool deliver_values(std::vector<Event>* out) {
    std::vector<ParsedCall> all;
    for (const std::string& value : values_) {
      std::optional<std::vector<ParsedCall>> calls = parse_calls(value, tools_, CallPlace::kTagged);
      if (!calls) return false;
      all.insert(all.end(), calls->begin(), calls->end());
    }
    if (all.empty()) return false;
    deliver(all, out);
    return true;
  }

  void deliver(const std::vector<ParsedCall>& calls, std::vector<Event>* out) {
    for (const ParsedCall& parsed : calls) append_call(parsed, n_calls_++, id_seed_, out);
    state_ = State::kText;
    pieces_.clear();
    held_.clear();
    n_scanned_ = 0;
    at_line_start_ = false;
    bare_in_text_ = false;
    after_call_ = true;
    if (has_text_) separator_ += blank_before_;
    blank_before_.clear();
  }

  void end_call(std::string after, std::vector<Event>* out) {
    if (!deliver_values(out)) give_up_call(out);
    if (!after.empty()) feed_piece({std::move(after), false}, out);
  }

  void spelled_open(std::string after, std::vector<Event>* out) {
    if (!deliver_values(out)) {
      give_up_call(out);  // reads the second mark again, and so comes back here with a new call
    } else {
      begin_call("", out);
    }
    if (!after.empty()) feed_piece({std::move(after), false}, out);
  }

  void reopen(Piece mark, std::vector<Event>* out) {
    bool complete = !scanning_ && !values_.empty() && is_blank(tail_);
    if (!complete || !deliver_values(out)) give_up_call(out);
    feed_piece(std::move(mark), out);
  }

  // The tag held no call: its mark is text, and the body is read as text that may hold further
  // calls.
  void give_up_call(std::vector<Event>* out) {
    state_ = State::kText;
    std::vector<Piece> body = std::exchange(pieces_, {});
    at_line_start_ = false;
    emit(std::exchange(blank_before_, {}) + open_.spelling, out);
    for (Piece& piece : body) feed_piece(std::move(piece), out);
  }

  const std::vector<Tool> tools_;
  uint64_t id_seed_;
  Mark open_, close_;
  State state_ = State::kBare;
  int n_calls_ = 0;
  bool after_call_ = false;  // a call was the last thing delivered
  bool has_text_ = false;    // some text was delivered
  std::string separator_;    // white space before the calls since then: goes out if text follows

  std::vector<Piece> pieces_;  // kBare, kCall: what is held, as it came
  std::string blank_before_;   // kBare, kCall: white space before it

  // kText
  std::string held_;            // white space and a partial mark
  size_t n_scanned_ = 0;        // of held_, by find_bare
  bool at_line_start_ = false;  // no more than white space stands on the line before that
  bool in_code_ = false;        // in a fence that holds no calls

  // kBare
  std::optional<BareCalls> bare_;
  bool bare_in_text_ = false;  // text() saw it

  // kCall
  JsonScanner json_;
  bool scanning_ = false;            // inside a value
  std::string value_;                // the value so far
  std::string tail_;                 // since the last value
  std::vector<std::string> values_;  // complete ones
};

}  // namespace

std::unique_ptr<OutputParser> make_hermes(const ParserOptions& options) {
  return std::make_unique<HermesParser>(options);
}

}  // namespace tempo9::chat
