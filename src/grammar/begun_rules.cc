// Rules of a reply that was begun for the model.
#include "grammar/rules.h"

namespace tempo9::grammar {
namespace {

class BegunRules final : public Rules {
 public:
  BegunRules(std::shared_ptr<const Rules> rules, std::string text)
      : rules_(std::move(rules)), text_(std::move(text)) {}

  Result<std::unique_ptr<Constraint>> start() const override {
    T9_TRY(std::unique_ptr<Constraint> constraint, rules_->start());
    T9_TRY(const bool fits, constraint->accept_text(text_));
    if (!fits) {
      return make_error(ErrorCode::kInternal, "the reply's own beginning {} breaks its rules",
                        text_);
    }
    return constraint;
  }
  size_t n_tokens() const override { return rules_->n_tokens(); }

 private:
  std::shared_ptr<const Rules> rules_;
  std::string text_;
};

}  // namespace

std::shared_ptr<const Rules> begun_with(std::shared_ptr<const Rules> rules, std::string text) {
  return std::make_shared<BegunRules>(std::move(rules), std::move(text));
}

}  // namespace tempo9::grammar
