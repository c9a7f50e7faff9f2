// "harmony" (gpt-oss): a reply is a row of messages, each for a channel and perhaps a recipient:
//
//   <|start|>assistant<|channel|>commentary to=functions.NAME
//   <|constrain|>json<|message|>{...}<|call|>
//
// The prompt ends behind "<|start|>assistant". Analysis is thinking; what has a function for its
// recipient is a call, whatever its channel; the rest is text. A recipient may stand before the
// channel too.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "chat/exact_json.h"
#include "chat/parsers/format.h"
#include "chat/parsers/json_scanner.h"
#include "chat/parsers/marks.h"

namespace tempo9::chat {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>",
                           kConstrain = "<|constrain|>", kEnd = "<|end|>", kReturn = "<|return|>",
                           kCall = "<|call|>";

std::string_view first_word(std::string_view text) {
  text = without_blank_start(text);
  return text.substr(0, text.find_first_of(" \t\r\n<"));
}

class HarmonyParser : public OutputParser {
 public:
  explicit HarmonyParser(const ParserOptions& options)
      : tools_(options.tools), splits_(options.split_thinking), id_seed_(options.id_seed) {
    for (const std::string_view spelling :
         {kStart, kChannel, kMessage, kConstrain, kEnd, kReturn, kCall}) {
      marks_.emplace_back(std::string(spelling), options.has_token);
    }
  }

  void feed(std::string_view increment, bool is_token, std::vector<Event>* out) override {
    const Piece piece{std::string(increment), is_token};
    for (const Mark& mark : marks_) {
      if (!mark.is(piece)) continue;
      text(std::exchange(held_, {}), out);
      return this->mark(mark.spelling, out);
    }
    held_ += increment;
    split(out);
  }

  void finish(FinishReason reason, std::vector<Event>* out) override {
    text(std::exchange(held_, {}), out);
    if (state_ == State::kCallBody) return end_call(reason == FinishReason::kStop, "", out);
    if (state_ == State::kHeader) give_up_header(out);
  }

 private:
  enum class State { kHeader, kText, kThinking, kCallBody };

  // Marks that count by their spelling.
  void split(std::vector<Event>* out) {
    for (;;) {
      const Mark* first = nullptr;
      size_t at = held_.size(), keep = 0;
      for (const Mark& mark : marks_) {
        if (mark.needs_token) continue;
        const size_t found = held_.find(mark.spelling);
        if (found < at) {
          at = found;
          first = &mark;
        }
        keep = std::max(keep, partial_at_end(held_, mark.spelling));
      }
      if (first == nullptr) {
        std::string ready = held_.substr(0, held_.size() - keep);
        held_.erase(0, ready.size());
        return text(std::move(ready), out);
      }
      text(held_.substr(0, at), out);
      held_.erase(0, at + first->spelling.size());
      mark(first->spelling, out);
    }
  }

  void mark(std::string_view mark, std::vector<Event>* out) {
    if (state_ == State::kCallBody && json_.in_string()) {  // part of an argument
      return text(std::string(mark), out);
    }
    if (state_ == State::kHeader) {
      if (mark == kMessage) return begin_body(out);
      if (mark == kChannel || mark == kConstrain) {
        header_ += mark;
        return;
      }
      give_up_header(out);
    } else if (mark == kMessage || mark == kConstrain) {
      return text(std::string(mark), out);
    }
    if (state_ == State::kCallBody) end_call(true, mark, out);
    state_ = State::kHeader;
    header_.clear();
    if (mark == kStart || mark == kChannel) header_ = mark;
  }

  void text(std::string text, std::vector<Event>* out) {
    if (text.empty()) return;
    switch (state_) {
      case State::kHeader:
        return header(std::move(text), out);
      case State::kText:
        return emit_text(text, out);
      case State::kThinking:
        if (!splits_) return emit_text(text, out);
        begin_message(&has_thinking_, &thinking_begun_, &text);
        out->emplace_back(std::in_place_type<ReasoningDelta>, std::move(text));
        return;
      case State::kCallBody:
        for (const char c : text) follow_json(c);
        body_ += text;
        return;
    }
  }

  void follow_json(char c) {
    if (json_ended_ || (body_.empty() && json_.depth() == 0 && c != '{')) return;
    const JsonScanner::Step step = json_.feed(c);
    json_ended_ = step == JsonScanner::Step::kEnd || step == JsonScanner::Step::kError;
    if (json_ended_) json_ = JsonScanner();
  }

  // What no header can hold is text: the model wrote without one.
  void header(std::string text, std::vector<Event>* out) {
    constexpr size_t kLongest = 300;
    for (size_t i = 0; i < text.size(); ++i) {
      header_ += text[i];
      if (header_.starts_with(kStart) || header_.starts_with(kChannel)) {
        if (header_.size() <= kLongest && text[i] != '\n') continue;
      } else {
        const std::string_view written = without_blank_start(header_);
        constexpr std::string_view kTo = "to=";
        const bool is_recipient = kTo.starts_with(written) || written.starts_with(kTo);
        if (is_recipient && header_.size() <= kLongest) continue;
      }
      // A character stays whole.
      while (i + 1 < text.size() && (text[i + 1] & 0xC0) == 0x80) header_ += text[++i];
      give_up_header(out);
      return this->text(text.substr(i + 1), out);
    }
  }

  void give_up_header(std::vector<Event>* out) {
    std::string written = std::exchange(header_, {});
    state_ = State::kText;
    text_begun_ = false;
    if (!is_blank(written)) emit_text(written, out);
  }

  void begin_body(std::vector<Event>* out) {
    std::string recipient;
    // "to=" stands in front or behind a blank: no channel and no role ends with it.
    if (const size_t to = header_.find("to="); to != std::string::npos) {
      recipient = first_word(std::string_view(header_).substr(to + 3));
    }
    const size_t channel_at = header_.find(kChannel);
    const std::string_view channel =
        channel_at == std::string::npos
            ? std::string_view()
            : first_word(std::string_view(header_).substr(channel_at + kChannel.size()));
    constexpr std::string_view kNamespace = "functions.";
    const bool is_function = recipient.starts_with(kNamespace);
    if (is_function) recipient.erase(0, kNamespace.size());
    text_begun_ = thinking_begun_ = false;
    if (!tools_.empty() && !recipient.empty() &&
        (is_function || find_tool(tools_, recipient) != nullptr)) {
      state_ = State::kCallBody;
      name_ = std::move(recipient);
      body_.clear();
      json_ = JsonScanner();
      json_ended_ = false;
      return;
    }
    const bool is_thinking = channel == "analysis";
    state_ = is_thinking ? State::kThinking : State::kText;
    if (is_function && !is_thinking) {  // a call that nobody offered
      emit_text(header_ + std::string(kMessage), out);
    }
    header_.clear();
  }

  void end_call(bool complete, std::string_view mark, std::vector<Event>* out) {
    state_ = State::kText;
    std::optional<Json> arguments;
    if (complete) {
      arguments = is_blank(body_) ? Json::object() : parse_exactly(mend_strings(body_));
    }
    if (!arguments || !arguments->is_object()) {
      text_begun_ = false;
      std::string written = header_ + std::string(kMessage) + body_;
      written += mark;
      emit_text(written, out);
    } else {
      const Tool* tool = find_tool(tools_, name_);
      if (tool != nullptr) arguments = coerce(*arguments, tool->parameters);
      append_call({name_, std::move(*arguments)}, n_calls_++, id_seed_, out);
    }
    header_.clear();
  }

  // An empty line stands between two messages that become one text.
  static void begin_message(bool* has_any, bool* begun, std::string* text) {
    if (!std::exchange(*begun, true) && std::exchange(*has_any, true)) text->insert(0, "\n\n");
  }

  void emit_text(std::string text, std::vector<Event>* out) {
    if (text.empty()) return;
    begin_message(&has_text_, &text_begun_, &text);
    out->emplace_back(std::in_place_type<TextDelta>, std::move(text));
  }

  const std::vector<Tool> tools_;
  const bool splits_;
  const uint64_t id_seed_;
  std::vector<Mark> marks_;
  std::string held_;  // a partial mark
  State state_ = State::kHeader;
  std::string header_;  // since the message began, marks included
  std::string name_, body_;
  JsonScanner json_;  // of body_
  bool json_ended_ = false;
  bool has_text_ = false, text_begun_ = false;  // in the reply; in this message
  bool has_thinking_ = false, thinking_begun_ = false;
  int n_calls_ = 0;
};

}  // namespace

OutputFormat harmony() {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kJson;
  format.syntax.call_begin = "<|channel|>commentary to=functions.";
  format.syntax.name_end = " <|constrain|>json<|message|>";
  format.syntax.call_end = kCall;
  format.syntax.marks = {kStart, kChannel, kMessage, kConstrain, kEnd, kReturn, kCall};
  format.syntax.ends_reply = true;
  format.clues = {{{kStart, kChannel, kMessage}, {}}};
  format.thinking = {{"<|channel|>analysis<|message|>", "<|end|><|start|>assistant"}};
  format.syntax.thinks_anywhere = true;
  format.syntax.text_begin = "<|channel|>final<|message|>";
  format.make = [](const ParserOptions& options) -> std::unique_ptr<OutputParser> {
    return std::make_unique<HarmonyParser>(options);
  };
  return format;
}

}  // namespace tempo9::chat
