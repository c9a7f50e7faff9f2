#include "grammar/thinking.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "grammar/thinking_text.h"

namespace tempo9::grammar {
namespace {

constexpr int kMaxBlanks = 2;

// A place in text that is fixed (the lead); behind it the inner constraint.
class LeadConstraint final : public Constraint {
 public:
  LeadConstraint(std::unique_ptr<Constraint> inner, const std::vector<TokenId>* lead,
                 const tokenizer::Tokenizer* tokenizer)
      : inner_(std::move(inner)), lead_(lead), text_(plain_text(*lead, *tokenizer)) {}

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (n_ == lead_->size()) return inner_->fill_mask(mask);
    std::ranges::fill(mask, 0U);
    allow(mask, (*lead_)[n_]);
    return true;
  }
  Result<bool> accept(TokenId id) override {
    if (n_ == lead_->size()) return inner_->accept(id);
    if (id != (*lead_)[n_]) return false;
    ++n_;
    return true;
  }
  Result<bool> accept_text(std::string_view text) override {
    const std::string_view left = std::string_view(text_).substr(n_bytes_);
    const size_t n = std::min(text.size(), left.size());
    if (text.substr(0, n) != left.substr(0, n)) return false;
    n_bytes_ += n;
    if (n_bytes_ == text_.size()) n_ = lead_->size();
    return inner_->accept_text(text.substr(n));
  }
  bool can_end() const override { return n_ == lead_->size() && inner_->can_end(); }
  bool ended() const override { return inner_->ended(); }

 private:
  std::unique_ptr<Constraint> inner_;
  const std::vector<TokenId>* lead_;
  std::string text_;  // of the lead, as scripts spell it
  size_t n_ = 0, n_bytes_ = 0;
};

struct ThinkingParts {
  std::shared_ptr<const Rules> rules;
  ThinkingMarks marks;
  std::vector<TokenId> lead;
  const tokenizer::Tokenizer* tokenizer;
  std::vector<SpelledPair> by_token, by_letter;
};

class ThinkingConstraint final : public Constraint {
 public:
  explicit ThinkingConstraint(std::shared_ptr<const ThinkingParts> shared)
      : s_(std::move(shared)),
        state_(s_->marks.starts_inside ? State::kInside : State::kHead),
        n_open_(s_->marks.pairs.size(), 0) {
    for (const char* spelling : {"\n", "\n\n", "\xC4\x8A", "\xC4\x8A\xC4\x8A"}) {
      const TokenId id = s_->tokenizer->find(spelling);
      if (id >= 0 && is_blank(id)) blanks_.push_back(id);
    }
  }
  Status begin() {
    T9_TRY(inner_, s_->rules->start());
    if (!s_->lead.empty())
      inner_ = std::make_unique<LeadConstraint>(std::move(inner_), &s_->lead, s_->tokenizer);
    return {};
  }

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (state_ == State::kInside) return false;
    std::ranges::fill(mask, 0U);
    if (inner_ != nullptr) {
      T9_TRY(const bool filled, inner_->fill_mask(mask));
      if (!filled) return false;
    }
    if (state_ == State::kRest) return true;
    for (size_t i = 0; i < n_open_.size(); ++i) {
      if (n_open_[i] >= 0) allow(mask, s_->marks.pairs[i].open[static_cast<size_t>(n_open_[i])]);
    }
    if (takes_blanks()) {
      for (const TokenId id : blanks_) allow(mask, id);
    }
    return true;
  }

  Result<bool> accept(TokenId id) override {
    if (state_ == State::kRest) return inner_->accept(id);
    if (state_ == State::kInside) {
      if (s_->tokenizer->ends_generation(id)) return false;  // nothing but thoughts is no reply
      return inside(s_->by_token, marked_text(*s_->tokenizer, id));
    }
    if (takes_blanks() && is_blank(id)) {
      ++n_blanks_;
      return true;
    }
    // The token may begin a mark, or what follows thinking; Harmony's first is the same for both.
    std::vector<int> n_open = n_open_;
    bool opens = false;
    for (size_t i = 0; i < n_open.size(); ++i) {
      const std::vector<TokenId>& open = s_->marks.pairs[i].open;
      const bool goes_on = n_open[i] >= 0 && open[static_cast<size_t>(n_open[i])] == id;
      n_open[i] = goes_on ? n_open[i] + 1 : -1;
      opens |= goes_on;
      if (goes_on && static_cast<size_t>(n_open[i]) == open.size()) {
        enter(i);
        return true;
      }
    }
    bool fits = false;
    if (inner_ != nullptr) {
      T9_TRY(fits, inner_->accept(id));
    }
    if (!fits && !opens) return false;
    if (!fits) inner_.reset();
    if (!opens) state_ = State::kRest;
    n_open_ = std::move(n_open);
    begun_ = true;
    return true;
  }

  Result<bool> accept_text(std::string_view text) override {
    if (state_ == State::kRest) return inner_->accept_text(text);
    if (state_ == State::kInside) return inside(s_->by_letter, text);
    tail_ += text;
    const std::string_view rest = without_blank(tail_);
    bool maybe = false;
    if (const auto pair = find_open(s_->by_letter, rest, &maybe)) {
      const std::string behind(rest.substr(s_->by_letter[*pair].open.size()));
      enter(*pair);
      return accept_text(behind);
    }
    if (maybe) return true;
    state_ = State::kRest;
    const std::string all = std::exchange(tail_, {});
    return inner_->accept_text(without_blank(all));
  }

  bool can_end() const override {
    return state_ != State::kInside && inner_ != nullptr && inner_->can_end();
  }
  bool ended() const override { return inner_ != nullptr && inner_->ended(); }

 private:
  enum class State { kHead, kInside, kRest };

  bool is_blank(TokenId id) const {
    const std::string_view bytes = s_->tokenizer->token_bytes(id, false);
    return !bytes.empty() && without_blank(bytes).empty();
  }
  bool takes_blanks() const { return has_thought_ && !begun_ && n_blanks_ < kMaxBlanks; }

  void enter(size_t pair) {
    state_ = State::kInside;
    opened_by_ = pair;
    tail_.clear();
  }

  Result<bool> inside(const std::vector<SpelledPair>& pairs, std::string_view text) {
    const size_t n_before = tail_.size();
    tail_ += text;
    const auto closed = find_close(pairs, opened_by_, tail_);
    if (!closed) {
      trim(pairs, &tail_);
      return true;
    }
    const std::string behind(without_blank(std::string_view(tail_).substr(closed->end)));
    T9_TRY(begin());
    state_ = State::kHead;
    has_thought_ = true;
    begun_ = false;
    n_blanks_ = 0;
    n_open_.assign(n_open_.size(), s_->marks.anywhere ? 0 : -1);
    std::string before = std::exchange(tail_, {});
    if (behind.empty()) return true;
    if (&pairs == &s_->by_letter) return accept_text(behind);
    T9_TRY(const bool fits, inner_->accept_text(behind));
    state_ = fits ? State::kRest : State::kInside;
    if (!fits) tail_ = before.substr(0, n_before);
    return fits;
  }

  std::shared_ptr<const ThinkingParts> s_;
  std::unique_ptr<Constraint> inner_;  // null: what was written can only become thinking
  State state_;
  std::optional<size_t> opened_by_;  // none: the prompt
  std::vector<int> n_open_;          // kHead: tokens of each opening mark that are written; -1: no
  bool has_thought_ = false;
  bool begun_ = false;  // kHead: something but white space is written
  int n_blanks_ = 0;
  std::vector<TokenId> blanks_;
  std::string tail_;
};

class ThinkingRules final : public Rules {
 public:
  explicit ThinkingRules(std::shared_ptr<const ThinkingParts> shared) : s_(std::move(shared)) {}
  Result<std::unique_ptr<Constraint>> start() const override {
    auto constraint = std::make_unique<ThinkingConstraint>(s_);
    T9_TRY(constraint->begin());
    return std::unique_ptr<Constraint>(std::move(constraint));
  }
  size_t n_tokens() const override { return static_cast<size_t>(s_->tokenizer->size()); }

 private:
  std::shared_ptr<const ThinkingParts> s_;
};

}  // namespace

std::shared_ptr<const Rules> after_thinking(std::shared_ptr<const Rules> rules, ThinkingMarks marks,
                                            std::vector<TokenId> lead,
                                            const tokenizer::Tokenizer* tokenizer) {
  auto by_token = spelled(marks, *tokenizer, false);
  auto by_letter = spelled(marks, *tokenizer, true);
  return std::make_shared<ThinkingRules>(std::make_shared<const ThinkingParts>(
      ThinkingParts{std::move(rules), std::move(marks), std::move(lead), tokenizer,
                    std::move(by_token), std::move(by_letter)}));
}

}  // namespace tempo9::grammar
