#include "grammar/conjunction.h"

#include <unordered_set>

namespace tempo9::grammar {
namespace {

// Keywords that say something of a value by themselves.
bool says_something(const Json& s) {
  for (auto it = s.begin(); it != s.end(); ++it) {
    const std::string& key = it.key();
    if (key != "$ref" && key != "allOf" && key != "$defs" && key != "definitions" &&
        key != "title" && key != "description" && key != "default" && key != "$schema" &&
        key != "$id" && key != "examples" && key != "$comment") {
      return true;
    }
  }
  return false;
}

const Json* find(const Json& s, const char* key) {
  const auto it = s.find(key);
  return it == s.end() ? nullptr : &*it;
}

}  // namespace

std::optional<Conjunction> flattened(const Schema& schema, Conjunction terms, int64_t* n_terms) {
  std::unordered_set<const Json*> seen;
  Conjunction out;
  for (size_t i = 0; i < terms.size(); ++i) {  // grows
    if (n_terms != nullptr) ++*n_terms;
    const Term term = terms[i];
    const Json& s = *term.schema;
    if (s.is_boolean()) {
      if (!s.get<bool>()) return std::nullopt;
      continue;
    }
    // The same schema again adds nothing; with alternatives chosen it comes first.
    if (!seen.insert(term.schema).second) continue;
    if (const Json* ref = find(s, "$ref")) terms.push_back({&schema.target(*ref)});
    if (const Json* all = find(s, "allOf")) {
      for (const Json& part : *all) terms.push_back({&part});
    }
    if (const Json* never = find(s, "not")) {
      const bool all = never->is_boolean() ? never->get<bool>() : never->empty();
      if (all) return std::nullopt;
    }
    if (says_something(s)) out.push_back(term);
  }
  return out;
}

Conjunction Alternatives::branch(size_t i) const {
  Conjunction out = common_;
  for (const Json* schema : branches_[i]) out.push_back({schema});
  return out;
}

std::optional<Alternatives> alternatives(const Conjunction& terms) {
  struct Choice {
    const char* key;
    uint8_t bit;
  };
  Alternatives out;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Json& s = *terms[i].schema;
    for (const Choice& choice : {Choice{"anyOf", Term::kAny}, Choice{"oneOf", Term::kOne}}) {
      const Json* branches = find(s, choice.key);
      if (branches == nullptr || (terms[i].chosen & choice.bit) != 0) continue;
      out.common_ = terms;
      out.common_[i].chosen |= choice.bit;
      for (const Json& branch : *branches) out.branches_.push_back({&branch});
      return out;
    }
    const Json* condition = find(s, "if");
    if (condition == nullptr || (terms[i].chosen & Term::kIf) != 0) continue;
    const Json *then = find(s, "then"), *otherwise = find(s, "else");
    if (then == nullptr && otherwise == nullptr) continue;
    out.common_ = terms;
    out.common_[i].chosen |= Term::kIf;
    out.branches_.resize(2);
    out.branches_[0].push_back(condition);
    if (then != nullptr) out.branches_[0].push_back(then);
    if (otherwise != nullptr) out.branches_[1].push_back(otherwise);
    return out;
  }
  return std::nullopt;
}

}  // namespace tempo9::grammar
