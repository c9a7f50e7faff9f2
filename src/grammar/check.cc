#include "grammar/check.h"

#include <algorithm>
#include <map>
#include <vector>

#include "grammar/exact_number.h"
#include "grammar/grammar.h"
#include "grammar/schema.h"
#include "grammar/schema_ebnf.h"
#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

constexpr int kMaxTries = 100'000;

// One token a byte: the smallest vocabulary that can write everything.
Vocab byte_vocab() {
  Vocab vocab;
  for (int byte = 0; byte < 256; ++byte) vocab.tokens.emplace_back(1, static_cast<char>(byte));
  vocab.tokens.emplace_back();
  vocab.end_tokens = {256};
  return vocab;
}

using Order = std::vector<std::string>;

void collect_orders(const Json& value, std::vector<Order>* orders, Order* all) {
  if (!value.is_structured()) return;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (value.is_object() && it.key() == "properties" && it->is_object()) {
      Order order;
      for (const auto& item : it->items()) order.push_back(item.key());
      all->insert(all->end(), order.begin(), order.end());
      orders->push_back(std::move(order));
    }
    collect_orders(*it, orders, all);
  }
}

class Writer {
 public:
  Writer(Matcher matcher, const Json& schema) : matcher_(std::move(matcher)) {
    collect_orders(schema, &orders_, &all_);
  }

  Result<bool> write(const Json& value) {
    if (value.is_object()) return write_object(value);
    if (value.is_array()) {
      T9_TRY(bool fits, put("["));
      for (size_t i = 0; fits && i < value.size(); ++i) {
        T9_TRY(const bool goes_on, put(i > 0 ? "," : ""));
        if (!goes_on) return false;
        T9_TRY(fits, write(value[i]));
      }
      return fits ? put("]") : Result<bool>(false);
    }
    T9_TRY(const bool fits, put(text_of(value)));
    // A schema may have said the same as 1e30.
    if (fits || !is_long_integer(value)) return fits;
    return put(Json(static_cast<double>(as_real(value))).dump());
  }

  bool complete() const { return matcher_.can_end(); }

 private:
  static std::string text_of(const Json& value) {
    if (is_number(value)) return number_text(value);
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  Result<bool> put(const std::string& text) {
    if (text.empty()) return true;
    T9_TRY(const bool fits, matcher_.accept_text(text));
    if (fits) ++n_steps_;
    return fits;
  }

  // The object's keys, those first that the schema names first.
  std::vector<const std::string*> ordered_keys(const Json& object,
                                               std::vector<std::string>* names) const {
    for (const auto& item : object.items()) names->push_back(item.key());
    const Order* best = &all_;
    size_t most = 0;
    for (const Order& order : orders_) {
      const auto n = static_cast<size_t>(std::ranges::count_if(
          order, [&](const std::string& key) { return object.contains(key); }));
      if (n > most) most = n, best = &order;
    }
    const auto rank = [&](const std::string& key) {
      const auto in_best = std::ranges::find(*best, key) - best->begin();
      if (in_best < std::ssize(*best)) return in_best;
      return std::ssize(*best) + (std::ranges::find(all_, key) - all_.begin());
    };
    std::ranges::stable_sort(*names,
                             [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    std::vector<const std::string*> keys;
    for (const std::string& name : *names) keys.push_back(&name);
    return keys;
  }

  Result<bool> write_object(const Json& object) {
    T9_TRY(const bool opens, put("{"));
    if (!opens) return false;
    std::vector<std::string> names;
    std::vector<const std::string*> left = ordered_keys(object, &names);
    return write_members(object, &left, true);
  }

  Result<bool> write_members(const Json& object, std::vector<const std::string*>* left,
                             bool first) {
    if (left->empty()) return put("}");
    for (size_t i = 0; i < left->size(); ++i) {
      if (++n_tries_ > kMaxTries) return false;
      const int n_before = n_steps_;
      const std::string* key = (*left)[i];
      T9_TRY(bool fits, put(fmt::format("{}{}:", first ? "" : ",", text_of(Json(*key)))));
      if (fits) {
        T9_TRY(fits, write(object[*key]));
      }
      if (fits) {
        left->erase(left->begin() + static_cast<std::ptrdiff_t>(i));
        T9_TRY(fits, write_members(object, left, false));
        left->insert(left->begin() + static_cast<std::ptrdiff_t>(i), key);
      }
      if (fits) return true;
      T9_TRY(matcher_.roll_back(n_steps_ - n_before));
      n_steps_ = n_before;
    }
    return false;
  }

  Matcher matcher_;
  std::vector<Order> orders_;
  Order all_;
  int n_steps_ = 0;
  int n_tries_ = 0;
};

}  // namespace

Result<CheckResult> check_instance(std::string_view schema_text, std::string_view instance_text) {
  T9_TRY(const Schema schema, Schema::parse(schema_text));
  const auto rules = schema_to_ebnf(schema, {});
  if (!rules && rules.error().code == ErrorCode::kNotFound)
    return CheckResult{false, rules.error().message};
  if (!rules) return rules.error();
  const Result<Json> instance = parse_json(instance_text);
  if (!instance) return CheckResult{false, "the instance is no JSON"};
  if (validate(schema, *instance) != Verdict::kYes)
    return CheckResult{false, "the instance breaks the schema"};
  T9_TRY(Compiler compiler, Compiler::make(byte_vocab()));
  T9_TRY(const Grammar grammar,
         compiler.ebnf(fmt::format("root ::= value\n{}{}", *rules, common_rules())));
  T9_TRY(Matcher matcher, grammar.start());
  Writer writer(std::move(matcher), schema.root());
  T9_TRY(const bool written, writer.write(*instance));
  if (!written || !writer.complete())
    return CheckResult{false, "the instance keeps the schema, but not in a form that is written"};
  return CheckResult{true, ""};
}

}  // namespace tempo9::grammar
