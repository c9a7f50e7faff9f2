#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "grammar/thinking.h"
#include "grammar/thinking_text.h"

namespace tempo9::grammar {
namespace {

struct BudgetParts {
  std::shared_ptr<const Rules> rules;  // null: the reply is free
  ThinkingMarks marks;
  uint32_t n_tokens;
  const tokenizer::Tokenizer* tokenizer;
  std::vector<SpelledPair> by_token, by_letter;
};

class BudgetConstraint final : public Constraint {
 public:
  explicit BudgetConstraint(std::shared_ptr<const BudgetParts> shared) : s_(std::move(shared)) {}
  Status begin() {
    if (s_->rules != nullptr) {
      T9_TRY(inner_, s_->rules->start());
    }
    if (s_->marks.starts_inside) enter(0);
    return {};
  }

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (!is_closing()) return inner_ != nullptr ? inner_->fill_mask(mask) : false;
    std::ranges::fill(mask, 0U);
    allow(mask, closing()[*n_closing_]);
    return true;
  }

  Result<bool> accept(TokenId id) override {
    if (is_closing() && id != closing()[*n_closing_]) return false;
    if (inner_ != nullptr) {
      T9_TRY(const bool fits, inner_->accept(id));
      if (!fits) return false;
    }
    if (is_closing()) {
      if (++*n_closing_ == closing().size()) leave();
      return true;
    }
    last_.push_back(id);
    if (last_.size() > 8) last_.erase(last_.begin());
    follow(s_->by_token, marked_text(*s_->tokenizer, id));
    return true;
  }

  Result<bool> accept_text(std::string_view text) override {
    if (inner_ != nullptr) {
      T9_TRY(const bool fits, inner_->accept_text(text));
      if (!fits) return false;
    }
    if (is_closing()) {
      leave();
    } else {
      follow(s_->by_letter, text);
    }
    return true;
  }

  std::string forced_text() const override {
    return is_closing() ? plain_text(std::span(closing()).subspan(*n_closing_), *s_->tokenizer)
                        : std::string();
  }
  bool can_end() const override { return inner_ == nullptr || inner_->can_end(); }
  bool ended() const override { return inner_ != nullptr && inner_->ended(); }

 private:
  enum class State { kHead, kInside, kRest };

  bool is_closing() const { return n_closing_.has_value(); }
  const std::vector<TokenId>& closing() const { return s_->marks.pairs[pair_].close; }

  void enter(size_t pair) {
    state_ = State::kInside;
    pair_ = pair;
    tail_.clear();
    last_.clear();
    spend(0);
  }
  void leave() {
    state_ = State::kHead;
    n_closing_.reset();
    tail_.clear();
    last_.clear();
  }
  void spend(uint32_t n) {
    n_spent_ += n;
    if (n_spent_ < s_->n_tokens) return;
    // The model may be about to close by itself.
    size_t n_written = std::min(last_.size(), closing().size() - 1);
    while (n_written > 0 && !std::equal(last_.end() - static_cast<std::ptrdiff_t>(n_written),
                                        last_.end(), closing().begin())) {
      --n_written;
    }
    n_closing_ = n_written;
  }

  void follow(const std::vector<SpelledPair>& pairs, std::string_view text) {
    tail_ += text;
    if (state_ == State::kInside) {
      if (find_close(pairs, std::nullopt, tail_)) return leave();
      trim(pairs, &tail_);
      return spend(1);
    }
    if (state_ == State::kHead) {
      bool maybe = false;
      if (const auto pair = find_open(pairs, without_blank(tail_), &maybe)) return enter(*pair);
      if (maybe) return;
      state_ = State::kRest;
    }
    for (size_t i = 0; s_->marks.anywhere && i < pairs.size(); ++i) {
      if (tail_.ends_with(pairs[i].open)) return enter(i);
    }
    trim(pairs, &tail_);
  }

  std::shared_ptr<const BudgetParts> s_;
  std::unique_ptr<Constraint> inner_;  // null: the reply is free
  State state_ = State::kHead;
  size_t pair_ = 0;
  uint32_t n_spent_ = 0;
  std::optional<size_t> n_closing_;  // the budget is spent: tokens of the closing mark so far
  std::vector<TokenId> last_;        // a few
  std::string tail_;
};

class BudgetRules final : public Rules {
 public:
  explicit BudgetRules(std::shared_ptr<const BudgetParts> shared) : s_(std::move(shared)) {}
  Result<std::unique_ptr<Constraint>> start() const override {
    auto constraint = std::make_unique<BudgetConstraint>(s_);
    T9_TRY(constraint->begin());
    return std::unique_ptr<Constraint>(std::move(constraint));
  }
  size_t n_tokens() const override { return static_cast<size_t>(s_->tokenizer->size()); }

 private:
  std::shared_ptr<const BudgetParts> s_;
};

}  // namespace

std::shared_ptr<const Rules> with_thinking_budget(std::shared_ptr<const Rules> rules,
                                                  ThinkingMarks marks, uint32_t n_tokens,
                                                  const tokenizer::Tokenizer* tokenizer) {
  auto by_token = spelled(marks, *tokenizer, false);
  auto by_letter = spelled(marks, *tokenizer, true);
  return std::make_shared<BudgetRules>(std::make_shared<const BudgetParts>(
      BudgetParts{std::move(rules), std::move(marks), n_tokens, tokenizer, std::move(by_token),
                  std::move(by_letter)}));
}

}  // namespace tempo9::grammar
