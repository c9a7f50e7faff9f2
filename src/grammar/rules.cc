#include "grammar/rules.h"

#include <optional>

#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

// Can the text still become a value that keeps the schema? Asked only when something was finished.
bool may_keep(const Schema& schema, std::string_view text, bool at_end) {
  const std::optional<PartialJson> partial = parse_partial(text, at_end);
  if (!partial || partial->repeated_key) return false;
  if (!partial->has_value) return !at_end;
  const Verdict verdict = validate(schema, partial->value, partial->n_open);
  return partial->n_open == 0 ? verdict == Verdict::kYes : verdict != Verdict::kNo && !at_end;
}

class GrammarConstraint final : public Constraint {
 public:
  GrammarConstraint(Matcher matcher, std::shared_ptr<const Schema> schema, NamedSchemas schemas)
      : matcher_(std::move(matcher)), schema_(std::move(schema)), schemas_(std::move(schemas)) {}

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    T9_TRY(matcher_.fill_mask(mask));
    return true;
  }

  Result<bool> accept(TokenId id) override {
    T9_TRY(const bool fits, matcher_.accept(id));
    if (!fits) return false;
    return keeps(matcher_.token_text(id));
  }

  Result<bool> accept_text(std::string_view text) override {
    if (text.empty()) return true;
    T9_TRY(const bool fits, matcher_.accept_text(text));
    if (!fits) return false;
    return keeps(text);
  }

  bool can_end() const override {
    return matcher_.can_end() && (schema_ == nullptr || may_keep(*schema_, text_, true));
  }
  bool ended() const override { return matcher_.ended(); }

 private:
  // The matcher has moved over text; it goes back when the schema has something against it.
  Result<bool> keeps(std::string_view text) {
    bool good = true;
    const size_t n_before = text_.size();
    if (schema_ != nullptr) {
      text_ += text;
      const bool finishes = text.find_first_of("\",]}: \t\r\n") != std::string_view::npos;
      if (matcher_.ended()) {
        good = may_keep(*schema_, text_, true);
      } else if (finishes) {
        good = may_keep(*schema_, text_, false);
      }
    }
    if (good && !schemas_.empty() && text.find('}') != std::string_view::npos) good = keep_names();
    if (good) return true;
    text_.resize(n_before);
    T9_TRY(matcher_.roll_back(1));
    return false;
  }

  bool keep_names() const {
    for (const auto& [name, text] : matcher_.captures()) {
      for (const auto& [schema_name, schema] : schemas_) {
        if (schema_name == name && !may_keep(*schema, text, true)) return false;
      }
    }
    return true;
  }

  Matcher matcher_;
  std::shared_ptr<const Schema> schema_;
  NamedSchemas schemas_;
  std::string text_;  // with schema_: the reply so far
};

class GrammarRules final : public Rules {
 public:
  GrammarRules(Grammar grammar, std::shared_ptr<const Schema> schema, NamedSchemas schemas)
      : grammar_(std::move(grammar)), schema_(std::move(schema)), schemas_(std::move(schemas)) {}

  Result<std::unique_ptr<Constraint>> start() const override {
    T9_TRY(Matcher matcher, grammar_.start());
    return std::unique_ptr<Constraint>(
        std::make_unique<GrammarConstraint>(std::move(matcher), schema_, schemas_));
  }
  size_t n_tokens() const override { return grammar_.n_tokens(); }

 private:
  Grammar grammar_;
  std::shared_ptr<const Schema> schema_;
  NamedSchemas schemas_;
};

// ---- thinking

constexpr std::string_view kClose = "</think>";
constexpr int kMaxBlanks = 2;

class ThinkingConstraint final : public Constraint {
 public:
  ThinkingConstraint(std::unique_ptr<Constraint> inner, const ThinkingMarks& marks,
                     const tokenizer::Tokenizer* tokenizer)
      : inner_(std::move(inner)),
        marks_(marks),
        tokenizer_(tokenizer),
        state_(marks.starts_inside ? State::kInside : State::kHead) {
    for (const char* spelling : {"\n", "\n\n", "\xC4\x8A", "\xC4\x8A\xC4\x8A"}) {
      const TokenId id = tokenizer->find(spelling);
      if (id >= 0 && is_blank(tokenizer->token_bytes(id, false))) blanks_.push_back(id);
    }
  }

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (state_ == State::kInside) return false;
    T9_TRY(const bool filled, inner_->fill_mask(mask));
    if (!filled || state_ == State::kRest) return filled;
    const auto allow = [&](TokenId id) {
      mask[static_cast<size_t>(id) / 32] |= 1U << (static_cast<uint32_t>(id) % 32);
    };
    if (state_ == State::kHead && marks_.open >= 0) allow(marks_.open);
    if (state_ == State::kAfter && n_blanks_ < kMaxBlanks) {
      for (const TokenId id : blanks_) allow(id);
    }
    return true;
  }

  Result<bool> accept(TokenId id) override {
    if (state_ == State::kInside) {
      if (tokenizer_->ends_generation(id)) return false;  // nothing but thoughts is no reply
      if (id == marks_.close) return after();
      return inside(tokenizer_->token_bytes(id, false), marks_.close < 0);
    }
    if (state_ == State::kHead && id == marks_.open && id >= 0) {
      state_ = State::kInside;
      return true;
    }
    if (state_ == State::kAfter && n_blanks_ < kMaxBlanks &&
        is_blank(tokenizer_->token_bytes(id, false)) &&
        !tokenizer_->token_bytes(id, false).empty()) {
      ++n_blanks_;
      return true;
    }
    T9_TRY(const bool accepted, inner_->accept(id));
    if (accepted) state_ = State::kRest;
    return accepted;
  }

  // Of scripts, whose marks count by their spelling.
  Result<bool> accept_text(std::string_view text) override {
    if (state_ == State::kHead) {
      tail_ += text;
      const std::string_view rest = without_blank(tail_);
      constexpr std::string_view kOpen = "<think>";
      if (kOpen.starts_with(rest.substr(0, kOpen.size()))) {
        if (rest.size() < kOpen.size()) return true;
        const std::string begun(rest.substr(kOpen.size()));
        state_ = State::kInside;
        tail_.clear();
        return accept_text(begun);
      }
      const std::string all = std::exchange(tail_, {});
      state_ = State::kRest;
      return inner_->accept_text(without_blank(all));
    }
    if (state_ == State::kInside) {
      T9_TRY(inside(text, true));
      if (state_ == State::kInside) return true;
      const std::string rest = std::exchange(tail_, {});
      return accept_text(rest);
    }
    if (state_ == State::kAfter) {
      text = without_blank(text);
      if (text.empty()) return true;
      state_ = State::kRest;
    }
    return inner_->accept_text(text);
  }

  bool can_end() const override {
    if (state_ == State::kInside) return false;
    return inner_->can_end();
  }
  bool ended() const override { return inner_->ended(); }

 private:
  enum class State { kHead, kInside, kAfter, kRest };

  static std::string_view without_blank(std::string_view text) {
    const size_t at = text.find_first_not_of(" \t\r\n");
    return at == std::string_view::npos ? std::string_view() : text.substr(at);
  }
  static bool is_blank(std::string_view text) { return without_blank(text).empty(); }

  bool after() {
    state_ = State::kAfter;
    tail_.clear();
    return true;
  }

  // Leaves what stands behind the closing mark in tail_.
  Result<bool> inside(std::string_view text, bool spelled) {
    if (!spelled) return true;
    tail_ += text;
    const size_t at = tail_.find(kClose);
    if (at == std::string::npos) {
      if (tail_.size() > kClose.size()) tail_.erase(0, tail_.size() - kClose.size());
      return true;
    }
    const std::string rest = tail_.substr(at + kClose.size());
    after();
    tail_ = rest;
    return true;
  }

  std::unique_ptr<Constraint> inner_;
  ThinkingMarks marks_;
  const tokenizer::Tokenizer* tokenizer_;
  State state_;
  std::vector<TokenId> blanks_;
  int n_blanks_ = 0;
  std::string tail_;
};

class ThinkingRules final : public Rules {
 public:
  ThinkingRules(std::shared_ptr<const Rules> rules, const ThinkingMarks& marks,
                const tokenizer::Tokenizer* tokenizer)
      : rules_(std::move(rules)), marks_(marks), tokenizer_(tokenizer) {}

  Result<std::unique_ptr<Constraint>> start() const override {
    T9_TRY(auto inner, rules_->start());
    return std::unique_ptr<Constraint>(
        std::make_unique<ThinkingConstraint>(std::move(inner), marks_, tokenizer_));
  }
  size_t n_tokens() const override { return rules_->n_tokens(); }

 private:
  std::shared_ptr<const Rules> rules_;
  ThinkingMarks marks_;
  const tokenizer::Tokenizer* tokenizer_;
};

}  // namespace

std::shared_ptr<const Rules> grammar_rules(Grammar grammar, std::shared_ptr<const Schema> schema) {
  return std::make_shared<GrammarRules>(std::move(grammar), std::move(schema), NamedSchemas());
}

std::shared_ptr<const Rules> grammar_rules(Grammar grammar, NamedSchemas schemas) {
  return std::make_shared<GrammarRules>(std::move(grammar), nullptr, std::move(schemas));
}

std::shared_ptr<const Rules> after_thinking(std::shared_ptr<const Rules> rules,
                                            const ThinkingMarks& marks,
                                            const tokenizer::Tokenizer* tokenizer) {
  return std::make_shared<ThinkingRules>(std::move(rules), marks, tokenizer);
}

}  // namespace tempo9::grammar
