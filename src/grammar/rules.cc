#include "grammar/rules.h"

#include <algorithm>
#include <optional>

#include "grammar/growing_json.h"
#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

class GrammarConstraint final : public Constraint {
 public:
  GrammarConstraint(Matcher matcher, std::shared_ptr<const Schema> schema,
                    std::vector<NamedSchema> schemas)
      : matcher_(std::move(matcher)), schema_(std::move(schema)), schemas_(std::move(schemas)) {
    reads_ = std::ranges::any_of(schemas_, [](const NamedSchema& s) { return s.read != nullptr; });
  }

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
    return matcher_.can_end() && (schema_ == nullptr || ends_well());
  }
  bool ended() const override { return matcher_.ended(); }

 private:
  // The matcher has moved over text; it goes back when the schema has something against it.
  Result<bool> keeps(std::string_view text) {
    bool good = true;
    const size_t n_before = text_.size();
    if (schema_ != nullptr) {
      text_ += text;
      good = matcher_.ended() ? ends_well() : grows_well(text);
    }
    const bool ends_value = text.find('}') != std::string_view::npos || reads_;
    if (good && !schemas_.empty() && ends_value) good = keep_names();
    if (good) return true;
    if (schema_ != nullptr) {
      text_.resize(n_before);
      grown_.emplace();
      grown_->add(text_);
      n_changes_ = grown_->n_changes();
    }
    T9_TRY(matcher_.roll_back(1));
    return false;
  }

  // A value that is whole was judged when it became so; a number is whole where the text ends.
  bool ends_well() const { return grown_->is_whole() || keeps_schema(*schema_, text_); }

  // Is the text a value that keeps the schema?
  bool keeps_schema(const Schema& schema, std::string_view text) const {
    const std::optional<PartialJson> partial = parse_partial(text, /*at_end=*/true);
    return partial && !partial->repeated_key && partial->has_value && partial->n_open == 0 &&
           validator_.check(schema, partial->value, 0) == Verdict::kYes;
  }

  bool keeps_named(const NamedSchema& named, std::string_view text) const {
    if (!named.read) return keeps_schema(*named.schema, text);
    const std::optional<Json> value = named.read(text);
    return value && validator_.check(*named.schema, *value, 0) == Verdict::kYes;
  }

  // Can it still become a value that keeps the schema? Asked when something was finished.
  bool grows_well(std::string_view text) {
    if (!grown_->add(text) || grown_->repeats_key()) return false;
    if (std::exchange(n_changes_, grown_->n_changes()) == grown_->n_changes()) return true;
    if (!grown_->has_value()) return true;
    const Verdict verdict = validator_.check(*schema_, grown_->value(), grown_->n_open());
    return grown_->is_whole() ? verdict == Verdict::kYes : verdict != Verdict::kNo;
  }

  // Captures come one behind the other, so that each is judged once.
  bool keep_names() {
    auto captures = matcher_.captures();
    size_t n_kept = 0;
    while (n_kept < std::min(kept_.size(), captures.size()) && kept_[n_kept] == captures[n_kept]) {
      ++n_kept;
    }
    kept_.resize(n_kept);
    for (size_t i = n_kept; i < captures.size(); ++i) {
      for (const NamedSchema& named : schemas_) {
        if (named.name == captures[i].first && !keeps_named(named, captures[i].second))
          return false;
      }
      kept_.push_back(std::move(captures[i]));
    }
    return true;
  }

  Matcher matcher_;
  std::shared_ptr<const Schema> schema_;
  std::vector<NamedSchema> schemas_;
  bool reads_ = false;                                     // some of them are not of JSON
  std::vector<std::pair<std::string, std::string>> kept_;  // captures that keep their schemas
  mutable ReplyValidator validator_;
  // With schema_: the reply so far.
  std::string text_;
  std::optional<GrowingJson> grown_{std::in_place};
  size_t n_changes_ = 0;
};

class GrammarRules final : public Rules {
 public:
  GrammarRules(Grammar grammar, std::shared_ptr<const Schema> schema,
               std::vector<NamedSchema> schemas)
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
  std::vector<NamedSchema> schemas_;
};

}  // namespace

std::shared_ptr<const Rules> grammar_rules(Grammar grammar, std::shared_ptr<const Schema> schema) {
  return std::make_shared<GrammarRules>(std::move(grammar), std::move(schema),
                                        std::vector<NamedSchema>());
}

std::shared_ptr<const Rules> grammar_rules(Grammar grammar, std::vector<NamedSchema> schemas) {
  return std::make_shared<GrammarRules>(std::move(grammar), nullptr, std::move(schemas));
}

}  // namespace tempo9::grammar
