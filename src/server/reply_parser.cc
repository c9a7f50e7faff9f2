#include "server/reply_parser.h"

#include <string_view>
#include <utility>
#include <variant>

namespace tempo9::server {

void ReplyParser::feed(const engine::Event& event, std::vector<chat::Event>* out) {
  if (parser_ == nullptr) make(event.format, out);
  const size_t first = out->size();
  feed_text(event, out);
  count(static_cast<uint32_t>(event.tokens.size()), *out, first);
  if (event.finish) {
    const bool cut = event.finish->reason == engine::FinishReason::kLength;
    parser_->finish(cut ? chat::FinishReason::kLength : chat::FinishReason::kStop, out);
    count(0, *out, first);
  }
}

void ReplyParser::make(const std::string& script_format, std::vector<chat::Event>* out) {
  chat::ParserOptions options = options_.parser;
  if (!service_.engine().info().is_script) options.has_token = service_.vocab_lookup();
  options.id_seed = service_.draw();
  const std::string& format = script_format.empty() ? service_.format() : script_format;
  auto parser = chat::make_parser(format, options);
  // Names were checked at start, so this one exists; plain text is what is left if it does not.
  if (!parser) parser = chat::make_parser("none", options);
  parser_ = std::move(*parser);
  for (const auto& increment : options_.opening)
    parser_->feed(increment.text, increment.is_token, out);
}

void ReplyParser::feed_text(const engine::Event& event, std::vector<chat::Event>* out) {
  const std::string_view text = event.text;
  if (service_.engine().info().is_script) {
    // Marks count by their spelling, and one piece of a script is one increment.
    if (!text.empty()) parser_->feed(text, false, out);
    return;
  }
  size_t begin = 0;
  for (const auto& [mark_begin, mark_end] : event.marks) {
    if (mark_begin > begin) parser_->feed(text.substr(begin, mark_begin - begin), false, out);
    parser_->feed(text.substr(mark_begin, mark_end - mark_begin), true, out);
    begin = mark_end;
  }
  if (begin < text.size()) parser_->feed(text.substr(begin), false, out);
}

// Text may be held back, so tokens wait until something comes out, and are of its kind.
void ReplyParser::count(uint32_t n_tokens, const std::vector<chat::Event>& events, size_t first) {
  n_tokens_ += n_tokens;
  if (events.size() == first) return;
  if (std::holds_alternative<chat::ReasoningDelta>(events[first]))
    n_reasoning_tokens_ += n_tokens_ - n_counted_;
  n_counted_ = n_tokens_;
}

}  // namespace tempo9::server
