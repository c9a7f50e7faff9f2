// Calls in a free reply: where one begins, and its arguments held to their schema.
#include <algorithm>
#include <optional>

#include "grammar/growing_json.h"
#include "grammar/rules.h"
#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

constexpr size_t kTailBytes = 512;  // of the reply that an opening may take

class CallConstraint final : public Constraint {
 public:
  CallConstraint(const std::vector<CallArguments>* tools, const CallStart* start,
                 std::shared_ptr<const Rules> owner, const tokenizer::Tokenizer* tokenizer)
      : tools_(tools), start_(start), owner_(std::move(owner)), tokenizer_(tokenizer) {}

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (!matcher_) return false;
    T9_TRY(matcher_->fill_mask(mask));
    return true;
  }

  Result<bool> accept(TokenId id) override {
    if (matcher_ && tokenizer_->ends_generation(id)) return false;
    if (!matcher_) return free(spelled(id), id);
    T9_TRY(const bool fits, matcher_->accept(id));
    return fits ? arguments_grew(spelled(id), 1) : Result<bool>(false);
  }

  Result<bool> accept_text(std::string_view text) override {
    if (!matcher_) return free(text, std::nullopt);
    T9_TRY(const bool fits, matcher_->accept_text(text));
    return fits ? arguments_grew(text, 1) : Result<bool>(false);
  }

  bool can_end() const override { return !matcher_; }
  bool ended() const override { return false; }

 private:
  // As it stands in tail_.
  std::string spelled(TokenId id) const {
    const std::string_view plain = tokenizer_->token_bytes(id, false);
    if (!plain.empty()) return std::string(plain);
    const std::string_view control = tokenizer_->token_bytes(id, true);
    return control.empty() ? std::string() : kControlByte + std::string(control);
  }

  // Does the text, the token's if there is one, bring a call to its arguments? Then they begin with
  // what of it stands there.
  Result<bool> free(std::string_view text, std::optional<TokenId> id) {
    const size_t n_before = tail_.size();
    tail_ += text;
    const CallArguments* tool = nullptr;
    const auto call = find_call(*start_, tail_, n_before, [&](std::string_view name) {
      const auto found = std::ranges::find(*tools_, name, &CallArguments::name);
      tool = found == tools_->end() ? nullptr : &*found;
      return tool != nullptr;
    });
    if (!call) {
      if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
      return true;
    }
    T9_TRY(Matcher matcher, tool->grammar.start());
    const std::string begun = tail_.substr(call->arguments);
    const bool is_token = id && call->arguments == n_before && begun.starts_with(kControlByte);
    T9_TRY(bool fits, is_token ? matcher.accept(*id) : matcher.accept_text(begun));
    if (fits) {
      matcher_ = std::move(matcher);
      grown_.emplace();
      tool_ = tool;
      const std::string opened = std::exchange(tail_, {});
      T9_TRY(fits, arguments_grew(begun, 0));
      if (!fits) {
        leave();
        tail_ = opened;
      }
    }
    if (!fits) tail_.resize(n_before);
    return fits;
  }

  // n_steps: of the matcher, to be taken back when the schema has something against it.
  Result<bool> arguments_grew(std::string_view text, int n_steps) {
    if (tool_->read) return arguments_grew_unlike_json(text, n_steps);
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

  // What breaks a schema and is not seen by the grammar is seen at the end.
  Result<bool> arguments_grew_unlike_json(std::string_view text, int n_steps) {
    if (!matcher_->can_end()) return true;
    if (tool_->schema != nullptr) {
      const auto captures = matcher_->captures();
      const auto value = captures.empty() ? std::nullopt : tool_->read(captures.back().second);
      if (!value || validator_.check(*tool_->schema, *value, 0) != Verdict::kYes) {
        if (n_steps > 0) T9_TRY(matcher_->roll_back(n_steps));
        return false;
      }
    }
    leave();
    tail_ = kCallEnd;
    tail_ += text;
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
  const CallStart* start_;
  std::shared_ptr<const Rules> owner_;  // of both
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
  CallRules(std::vector<CallArguments> tools, CallStart start,
            const tokenizer::Tokenizer* tokenizer)
      : tools_(std::move(tools)), start_(std::move(start)), tokenizer_(tokenizer) {}

  Result<std::unique_ptr<Constraint>> start() const override {
    return std::unique_ptr<Constraint>(
        std::make_unique<CallConstraint>(&tools_, &start_, shared_from_this(), tokenizer_));
  }
  size_t n_tokens() const override { return static_cast<size_t>(tokenizer_->size()); }

 private:
  std::vector<CallArguments> tools_;
  CallStart start_;
  const tokenizer::Tokenizer* tokenizer_;
};

}  // namespace

std::shared_ptr<const Rules> call_rules(std::vector<CallArguments> tools, CallStart start,
                                        const tokenizer::Tokenizer* tokenizer) {
  return std::make_shared<CallRules>(std::move(tools), std::move(start), tokenizer);
}

}  // namespace tempo9::grammar
