// Calls in a free reply: where one begins, and its arguments held to their schema.
#include <algorithm>
#include <optional>

#include "grammar/growing_json.h"
#include "grammar/rules.h"
#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

constexpr size_t kTailBytes = 512;  // of the reply that an opening may take

// Takes pieces off a text's end.
class Backwards {
 public:
  explicit Backwards(std::string_view text) : text_(text) {}
  bool take(std::string_view piece) {
    if (!text_.ends_with(piece)) return false;
    text_.remove_suffix(piece.size());
    return true;
  }
  void skip(std::string_view characters) {
    while (!text_.empty() && characters.find(text_.back()) != std::string_view::npos) {
      text_.remove_suffix(1);
    }
  }
  void skip_blank() { skip(" \t\r\n"); }
  std::optional<std::string_view> take_string() {
    if (!take("\"")) return std::nullopt;
    const size_t begin = text_.rfind('"');
    if (begin == std::string_view::npos) return std::nullopt;
    const std::string_view inner = text_.substr(begin + 1);
    if (inner.find('\\') != std::string_view::npos) return std::nullopt;
    text_.remove_suffix(inner.size() + 1);
    return inner;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

class CallConstraint final : public Constraint {
 public:
  CallConstraint(const std::vector<CallArguments>* tools, std::shared_ptr<const Rules> owner,
                 const tokenizer::Tokenizer* tokenizer)
      : tools_(tools), owner_(std::move(owner)), tokenizer_(tokenizer) {}

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (!matcher_) return false;
    T9_TRY(matcher_->fill_mask(mask));
    return true;
  }

  Result<bool> accept(TokenId id) override {
    if (matcher_ && tokenizer_->ends_generation(id)) return false;
    if (!matcher_) return free(tokenizer_->token_bytes(id, true));
    T9_TRY(const bool fits, matcher_->accept(id));
    return fits ? arguments_grew(tokenizer_->token_bytes(id, true), 1) : Result<bool>(false);
  }

  Result<bool> accept_text(std::string_view text) override {
    if (!matcher_) return free(text);
    T9_TRY(const bool fits, matcher_->accept_text(text));
    return fits ? arguments_grew(text, 1) : Result<bool>(false);
  }

  bool can_end() const override { return !matcher_; }
  bool ended() const override { return false; }

 private:
  // Does the text bring a call to its arguments? Then they begin with what stands behind the colon.
  Result<bool> free(std::string_view text) {
    const size_t n_before = tail_.size();
    tail_ += text;
    for (size_t at = tail_.find(':', n_before); at != std::string::npos;
         at = tail_.find(':', at + 1)) {
      const std::string_view name = call_opening(std::string_view(tail_).substr(0, at + 1));
      const auto tool = std::ranges::find(*tools_, name, &CallArguments::name);
      if (name.empty() || tool == tools_->end()) continue;
      T9_TRY(Matcher matcher, tool->grammar.start());
      const std::string begun = tail_.substr(at + 1);
      T9_TRY(const bool fits, matcher.accept_text(begun));
      if (!fits) {
        tail_.resize(n_before);
        return false;
      }
      matcher_ = std::move(matcher);
      grown_.emplace();
      tool_ = &*tool;
      const std::string opened = std::exchange(tail_, {});
      T9_TRY(const bool keeps, arguments_grew(begun, 0));
      if (keeps) return true;
      leave();
      tail_ = opened.substr(0, n_before);
      return false;
    }
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
    return true;
  }

  // n_steps: of the matcher, to be taken back when the schema has something against it.
  Result<bool> arguments_grew(std::string_view text, int n_steps) {
    const bool is_json = grown_->add(text);
    if (tool_->schema != nullptr) {
      if (!is_json || !keeps_schema()) {
        grown_.emplace();
        grown_->add(written_);
        n_changes_ = grown_->n_changes();
        if (n_steps > 0) T9_TRY(matcher_->roll_back(n_steps));
        return false;
      }
      written_ += text;
    }
    if (grown_->is_whole()) {
      leave();
      tail_.assign(text);
    }
    return true;
  }

  // Asked when something was finished.
  bool keeps_schema() {
    if (grown_->repeats_key()) return false;
    if (std::exchange(n_changes_, grown_->n_changes()) == grown_->n_changes()) return true;
    return !grown_->has_value() ||
           validator_.check(*tool_->schema, grown_->value(), grown_->n_open()) != Verdict::kNo;
  }

  void leave() {
    matcher_.reset();
    grown_.reset();
    written_.clear();
    n_changes_ = 0;
  }

  const std::vector<CallArguments>* tools_;
  std::shared_ptr<const Rules> owner_;  // of tools_
  const tokenizer::Tokenizer* tokenizer_;
  std::string tail_;                // free: the end of the reply so far
  std::optional<Matcher> matcher_;  // inside arguments
  const CallArguments* tool_ = nullptr;
  std::optional<GrowingJson> grown_;  // the arguments
  std::string written_;               // their text, with a schema
  size_t n_changes_ = 0;
  ReplyValidator validator_;
};

class CallRules final : public Rules, public std::enable_shared_from_this<CallRules> {
 public:
  CallRules(std::vector<CallArguments> tools, const tokenizer::Tokenizer* tokenizer)
      : tools_(std::move(tools)), tokenizer_(tokenizer) {}

  Result<std::unique_ptr<Constraint>> start() const override {
    return std::unique_ptr<Constraint>(
        std::make_unique<CallConstraint>(&tools_, shared_from_this(), tokenizer_));
  }
  size_t n_tokens() const override { return static_cast<size_t>(tokenizer_->size()); }

 private:
  std::vector<CallArguments> tools_;
  const tokenizer::Tokenizer* tokenizer_;
};

}  // namespace

std::string_view call_opening(std::string_view text) {
  Backwards at(text);
  if (!at.take(":")) return {};
  at.skip_blank();
  if (!at.take("\"arguments\"") && !at.take("\"parameters\"")) return {};
  at.skip_blank();
  if (!at.take(",")) return {};
  at.skip_blank();
  const auto name = at.take_string();
  if (!name) return {};
  at.skip_blank();
  if (!at.take(":")) return {};
  at.skip_blank();
  if (!at.take("\"name\"")) return {};
  at.skip_blank();
  if (!at.take("{")) return {};
  // At the start of a line, in a list of calls, or behind a mark; in the middle of prose it is an
  // example of a call.
  at.skip(" \t");
  for (const std::string_view before : {"", "\n", "[", ",", "<tool_call>", "\"function\":"}) {
    if (before.empty() ? at.rest().empty() : at.rest().ends_with(before)) return *name;
  }
  return {};
}

std::shared_ptr<const Rules> call_rules(std::vector<CallArguments> tools,
                                        const tokenizer::Tokenizer* tokenizer) {
  return std::make_shared<CallRules>(std::move(tools), tokenizer);
}

}  // namespace tempo9::grammar
