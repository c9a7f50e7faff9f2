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

}  // namespace

std::shared_ptr<const Rules> grammar_rules(Grammar grammar, std::shared_ptr<const Schema> schema) {
  return std::make_shared<GrammarRules>(std::move(grammar), std::move(schema), NamedSchemas());
}

std::shared_ptr<const Rules> grammar_rules(Grammar grammar, NamedSchemas schemas) {
  return std::make_shared<GrammarRules>(std::move(grammar), nullptr, std::move(schemas));
}

}  // namespace tempo9::grammar
