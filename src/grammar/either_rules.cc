// Two forms of which a reply takes one: an answer in its form, or a call.
#include <algorithm>
#include <array>
#include <functional>

#include "grammar/rules.h"

namespace tempo9::grammar {
namespace {

class EitherConstraint final : public Constraint {
 public:
  EitherConstraint(std::unique_ptr<Constraint> a, std::unique_ptr<Constraint> b)
      : branches_{std::move(a), std::move(b)} {}

  Result<bool> fill_mask(std::span<uint32_t> mask) override {
    if (branches_[0] == nullptr || branches_[1] == nullptr) return only().fill_mask(mask);
    T9_TRY(const bool first, branches_[0]->fill_mask(mask));
    other_.assign(mask.size(), 0);
    T9_TRY(const bool second, branches_[1]->fill_mask(other_));
    if (!first || !second) return false;
    std::ranges::transform(mask, other_, mask.begin(), std::bit_or<>());
    return true;
  }

  Result<bool> accept(TokenId id) override {
    return each([id](Constraint& branch) { return branch.accept(id); });
  }
  Result<bool> accept_text(std::string_view text) override {
    return each([text](Constraint& branch) { return branch.accept_text(text); });
  }

  bool can_end() const override {
    return std::ranges::any_of(branches_, [](const auto& b) { return b && b->can_end(); });
  }
  bool ended() const override {
    return std::ranges::any_of(branches_, [](const auto& b) { return b && b->ended(); });
  }

 private:
  Constraint& only() { return branches_[0] ? *branches_[0] : *branches_[1]; }

  // A branch that does not go along is out, unless no other does.
  template <typename Step>
  Result<bool> each(Step&& step) {
    std::array<bool, 2> takes = {false, false};
    for (size_t i = 0; i < 2; ++i) {
      if (branches_[i] == nullptr) continue;
      T9_TRY(takes[i], step(*branches_[i]));
    }
    if (!takes[0] && !takes[1]) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (!takes[i]) branches_[i].reset();
    }
    return true;
  }

  std::array<std::unique_ptr<Constraint>, 2> branches_;
  std::vector<uint32_t> other_;
};

class EitherRules final : public Rules {
 public:
  EitherRules(std::shared_ptr<const Rules> a, std::shared_ptr<const Rules> b)
      : a_(std::move(a)), b_(std::move(b)) {}

  Result<std::unique_ptr<Constraint>> start() const override {
    T9_TRY(auto a, a_->start());
    T9_TRY(auto b, b_->start());
    return std::unique_ptr<Constraint>(
        std::make_unique<EitherConstraint>(std::move(a), std::move(b)));
  }
  size_t n_tokens() const override { return a_->n_tokens(); }

 private:
  std::shared_ptr<const Rules> a_, b_;
};

}  // namespace

std::shared_ptr<const Rules> either(std::shared_ptr<const Rules> a,
                                    std::shared_ptr<const Rules> b) {
  return std::make_shared<EitherRules>(std::move(a), std::move(b));
}

}  // namespace tempo9::grammar
