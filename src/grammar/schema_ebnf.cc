#include "grammar/schema_ebnf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "grammar/conjunction.h"
#include "grammar/schema_scalars.h"
#include "grammar/validate.h"

namespace tempo9::grammar {
namespace {

constexpr size_t kMaxRules = 40'000;
constexpr size_t kMaxBytes = 8 << 20;
constexpr int kMaxEbnfDepth = 200;
// Of kUnhurriedSteps. So a few million terms are made in all.
constexpr int64_t kStepsPerTerm = 100;
constexpr int64_t kStepsPerLookup = 30;

using Expression = std::optional<std::string>;  // no value: nothing fits

class SchemaTranslator {
 public:
  SchemaTranslator(const Schema& schema, const SchemaOptions& options, std::string_view prefix)
      : schema_(schema), options_(options), prefix_(prefix) {}

  Result<std::string> run() {
    Conjunction root;
    root.push_back({&schema_.root()});
    const Expression value = rule_of(root, 0);
    if (failed_) {
      return make_error(ErrorCode::kInvalidArgument,
                        "#: found more alternatives and parts than a grammar of {} rules "
                        "holds; make it smaller",
                        kMaxRules);
    }
    if (!value) {
      return make_error(ErrorCode::kNotFound,
                        "#: found a schema that no value keeps, expected one that some value does");
    }
    return out_ + fmt::format("{}value ::= {}\n", prefix_, *value);
  }

 private:
  std::string new_name() { return fmt::format("{}r{}", prefix_, n_rules_++); }
  void define(const std::string& name, std::string_view body) {
    out_ += name;
    out_ += " ::= ";
    out_ += body;
    out_ += '\n';
    if (out_.size() > kMaxBytes || n_rules_ > kMaxRules) failed_ = true;
  }

  // False: this takes too long.
  bool spend(int64_t n) {
    steps_ -= n;
    failed_ |= steps_ < 0;
    return !failed_;
  }

  // ---- any schema

  Expression rule_of(const Conjunction& unflat, int depth) {
    if (failed_ || depth > kMaxEbnfDepth) {
      failed_ = true;
      return std::nullopt;
    }
    int64_t n_terms = 1;
    const std::optional<Conjunction> terms = flattened(schema_, unflat, &n_terms);
    if (!spend(kStepsPerTerm * n_terms) || !terms) return std::nullopt;
    if (terms->empty()) return "json-value";
    if (const auto known = rules_.find(*terms); known != rules_.end()) return known->second;
    // Named before its body is known: a schema may contain itself.
    const std::string name = new_name();
    rules_.emplace(*terms, name);
    const Expression body = body_of(*terms, depth);
    define(name, body ? *body : "json-never");
    if (!body) rules_[*terms] = std::nullopt;
    return body ? Expression(name) : std::nullopt;
  }

  Expression body_of(const Conjunction& terms, int depth) {
    if (const auto values = listed_values(terms)) return literal_body(terms, *values);
    if (const auto choices = alternatives(terms)) {
      std::vector<std::string> branches;
      std::set<std::string> seen;
      for (size_t i = 0; i < choices->size() && !failed_; ++i) {
        const Expression branch = rule_of(choices->branch(i), depth + 1);
        if (branch && seen.insert(*branch).second) branches.push_back(*branch);
      }
      return branches.empty() ? Expression() : joined(branches);
    }
    return typed_body(terms, depth);
  }

  // The shortest enum or const among the terms.
  static std::optional<std::vector<Json>> listed_values(const Conjunction& terms) {
    std::optional<std::vector<Json>> best;
    for (const Term& term : terms) {
      if (const Json* constant = keyword(*term.schema, "const"))
        return std::vector<Json>{*constant};
      const Json* list = keyword(*term.schema, "enum");
      if (list != nullptr && (!best || list->size() < best->size()))
        best = std::vector<Json>(list->begin(), list->end());
    }
    return best;
  }

  Expression literal_body(const Conjunction& terms, const std::vector<Json>& values) {
    std::vector<std::string> branches;
    for (const Json& value : values) {
      const bool fits = std::ranges::all_of(terms, [&](const Term& term) {
        return validate_part(schema_, *term.schema, value, &steps_) == Verdict::kYes;
      });
      if (!spend(1)) break;
      if (fits) branches.push_back(value_literal(value));
    }
    return branches.empty() ? Expression() : joined(branches);
  }

  // ---- by type

  static bool allows(const Conjunction& terms, std::string_view type) {
    return std::ranges::all_of(terms, [&](const Term& term) {
      const Json* types = keyword(*term.schema, "type");
      if (types == nullptr) return true;
      const auto is = [&](const Json& t) {
        return t == type || (type == "integer" && t == "number");
      };
      return types->is_array() ? std::ranges::any_of(*types, is) : is(*types);
    });
  }

  Expression typed_body(const Conjunction& terms, int depth) {
    std::vector<std::string> branches;
    const auto add = [&](Expression branch) {
      if (branch) branches.push_back(std::move(*branch));
    };
    if (allows(terms, "object")) add(object_body(terms, depth));
    if (allows(terms, "array")) add(array_body(terms, depth));
    if (allows(terms, "string")) add(string_body(schema_, terms));
    if (allows(terms, "number")) {
      add(number_body(terms, false));
    } else if (allows(terms, "integer")) {
      add(number_body(terms, true));
    }
    if (allows(terms, "boolean")) branches.insert(branches.end(), {"\"true\"", "\"false\""});
    if (allows(terms, "null")) branches.emplace_back("\"null\"");
    return branches.empty() ? Expression() : joined(branches);
  }

  // ---- arrays

  static const Json* prefix_of(const Json& s) {
    if (const Json* prefix = keyword(s, "prefixItems")) return prefix;
    const Json* items = keyword(s, "items");
    return items != nullptr && items->is_array() ? items : nullptr;
  }
  static const Json* rest_of(const Json& s) {
    const Json* items = keyword(s, "items");
    return items != nullptr && items->is_array() ? keyword(s, "additionalItems") : items;
  }

  // Do `properties`, `items` and the like of these terms say all there is to say about what is
  // evaluated? If not, unevaluated... is left to validate().
  static bool evaluates_plainly(const Conjunction& terms) {
    int n_unevaluated = 0;
    for (const Term& term : terms) {
      const Json& s = *term.schema;
      for (const char* key : {"contains", "dependentSchemas", "dependencies"}) {
        if (s.contains(key)) return false;
      }
      if (s.contains("anyOf") || (s.contains("if") && (term.chosen & Term::kIf) == 0)) return false;
      n_unevaluated += s.contains("unevaluatedProperties") || s.contains("unevaluatedItems");
    }
    return n_unevaluated == 1;
  }

  // What holds of item i.
  static Conjunction item_terms(const Conjunction& terms, size_t i) {
    Conjunction out;
    for (const Term& term : terms) {
      const Json* prefix = prefix_of(*term.schema);
      const Json* sub =
          prefix != nullptr && i < prefix->size() ? &(*prefix)[i] : rest_of(*term.schema);
      if (sub != nullptr) out.push_back({sub});
    }
    if (!out.empty() || !evaluates_plainly(terms)) return out;
    for (const Term& term : terms) {
      if (const Json* sub = keyword(*term.schema, "unevaluatedItems")) out.push_back({sub});
    }
    return out;
  }

  Expression array_body(const Conjunction& terms, int depth) {
    std::optional<Count> count = count_of(terms, "minItems", "maxItems");
    if (!count) return std::nullopt;
    size_t n_prefix = 0;
    for (const Term& term : terms) {
      if (const Json* prefix = prefix_of(*term.schema))
        n_prefix = std::max(n_prefix, prefix->size());
      const Json* least = keyword(*term.schema, "minContains");
      if (keyword(*term.schema, "contains") != nullptr &&
          (least == nullptr || as_count(*least) > 0))
        count->min = std::max<int64_t>(count->min, 1);
    }
    std::vector<std::string> items;
    for (size_t i = 0; i < n_prefix; ++i) {
      if (!spend(kStepsPerLookup * std::ssize(terms))) break;
      const Expression item = rule_of(item_terms(terms, i), depth + 1);
      if (!item || (count->max && *count->max <= static_cast<int64_t>(i))) {
        count->max = std::min<int64_t>(count->max.value_or(kManyItems), static_cast<int64_t>(i));
        break;
      }
      items.push_back(*item);
    }
    const bool open = !count->max || *count->max > static_cast<int64_t>(items.size());
    const Expression rest = open ? rule_of(item_terms(terms, n_prefix), depth + 1) : Expression();
    const auto n_items = static_cast<int64_t>(items.size());
    if (!rest) count->max = std::min(count->max.value_or(n_items), n_items);
    if (count->min > count->max.value_or(kManyItems)) return std::nullopt;
    return array_rules(items, rest, *count);
  }

  std::string array_rules(const std::vector<std::string>& items, const Expression& rest,
                          const Count& count) {
    if (count.max == 0) return R"("[" json-ws "]")";
    const auto n = static_cast<int64_t>(items.size());
    // Behind item n, and behind each item before it: what may follow.
    std::string tail = "\"\"";
    if (rest && (!count.max || *count.max > n)) {
      const int64_t first = n == 0 ? 1 : 0;  // the first item has no comma
      const auto left = [&](int64_t v) { return std::max<int64_t>(0, v - n - first); };
      tail = counted(R"("," json-ws )" + *rest, left(count.min),
                     count.max ? std::optional(left(*count.max)) : std::nullopt);
      if (n == 0) tail = fmt::format("{} {}", *rest, tail);
    }
    for (int64_t i = n; i-- > 0;) {
      std::string here = fmt::format("{}{} {}", i > 0 ? R"("," json-ws )" : "",
                                     items[static_cast<size_t>(i)], tail);
      if (i > 0 && i >= count.min) here = fmt::format("({})?", here);
      if (i > 0) {
        const std::string name = new_name();
        define(name, here);
        here = name;
      }
      tail = std::move(here);
    }
    const std::string filled = fmt::format(R"("[" json-ws {} json-ws "]")", tail);
    return count.min > 0 ? filled : fmt::format(R"(("[" json-ws "]" | {}))", filled);
  }

  // ---- objects

  struct Members {
    std::vector<std::string> names;  // declared or required, in order
    bool declares = false;           // some term has properties
    bool speaks_of_others = false;   // ... or says what other keys may be
  };

  static Members members_of(const Conjunction& terms) {
    Members out;
    std::set<std::string> seen;
    const auto add = [&](const std::string& name) {
      if (seen.insert(name).second) out.names.push_back(name);
    };
    for (const Term& term : terms) {
      if (const Json* properties = keyword(*term.schema, "properties")) {
        out.declares = true;
        for (const auto& item : properties->items()) add(item.key());
      }
      for (const char* key :
           {"additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"})
        out.speaks_of_others |= term.schema->contains(key);
    }
    for (const Term& term : terms) {
      const Json* required = keyword(*term.schema, "required");
      if (required == nullptr || !required->is_array()) continue;
      for (const Json& name : *required) add(name.get<std::string>());
    }
    for (const Term& term : terms) {  // more keys than are declared
      const Json* least = keyword(*term.schema, "minProperties");
      out.speaks_of_others |= least != nullptr && *least > out.names.size();
    }
    return out;
  }

  static bool is_required(const Conjunction& terms, const std::string& name) {
    return std::ranges::any_of(terms, [&](const Term& term) {
      const Json* required = keyword(*term.schema, "required");
      return required != nullptr && required->is_array() &&
             std::ranges::any_of(*required, [&](const Json& r) { return r == name; });
    });
  }

  // What holds of a key's value; no value: propertyNames forbids the key.
  std::optional<Conjunction> member_terms(const Conjunction& terms, const std::string& name) {
    Conjunction out;
    bool known_somewhere = false;
    for (const Term& term : terms) {
      const Json& s = *term.schema;
      bool known = false;
      if (const Json* properties = keyword(s, "properties")) {
        if (auto p = properties->find(name); p != properties->end()) {
          out.push_back({&*p});
          known = true;
        }
      }
      if (const Json* patterns = keyword(s, "patternProperties")) {
        for (auto p = patterns->begin(); p != patterns->end(); ++p) {
          if (!schema_.pattern(p.key()).matches(name, &steps_)) continue;
          out.push_back({&*p});
          known = true;
        }
      }
      if (const Json* others = keyword(s, "additionalProperties"); others != nullptr && !known) {
        out.push_back({others});
        known = true;
      }
      known_somewhere |= known;
      if (const Json* names = keyword(s, "propertyNames");
          names != nullptr && validate_part(schema_, *names, Json(name), &steps_) == Verdict::kNo) {
        return std::nullopt;
      }
    }
    for (const Term& term : terms) {
      const Json* others = keyword(*term.schema, "unevaluatedProperties");
      if (others != nullptr && !known_somewhere && evaluates_plainly(terms))
        out.push_back({others});
    }
    return out;
  }

  // `"key": value` for keys that no term names; no value: there are none.
  Expression other_member(const Conjunction& terms, const Members& members, int depth) {
    if (options_.closed_objects && members.declares && !members.speaks_of_others)
      return std::nullopt;
    Conjunction others, names, unevaluated;
    std::vector<std::string> branches;
    for (const Term& term : terms) {
      if (const Json* sub = keyword(*term.schema, "additionalProperties")) others.push_back({sub});
      if (const Json* sub = keyword(*term.schema, "unevaluatedProperties"))
        unevaluated.push_back({sub});
      if (const Json* sub = keyword(*term.schema, "propertyNames")) names.push_back({sub});
    }
    if (others.empty() && evaluates_plainly(terms)) others = unevaluated;
    for (const Term& term : terms) {
      const Json* patterns = keyword(*term.schema, "patternProperties");
      if (patterns == nullptr) continue;
      for (auto p = patterns->begin(); p != patterns->end(); ++p) {
        const Expression value = rule_of({{&*p}}, depth + 1);
        if (!value) continue;
        branches.push_back(
            fmt::format("\"\\\"\" {} \"\\\":\" json-ws {}",
                        to_ebnf(schema_.pattern_node(p.key()), Spelling::kJsonString), *value));
      }
    }
    const Expression value = rule_of(others, depth + 1);
    Expression key = "json-string";
    if (!names.empty()) {
      key = std::nullopt;
      static const Json kString = {{"type", "string"}};
      names.push_back({&kString});
      key = rule_of(names, depth + 1);
    }
    if (value && key) branches.push_back(fmt::format("{} \":\" json-ws {}", *key, *value));
    if (branches.empty()) return std::nullopt;
    const std::string name = new_name();
    define(name, joined(branches));
    return name;
  }

  Expression object_body(const Conjunction& terms, int depth) {
    const std::optional<Count> count = count_of(terms, "minProperties", "maxProperties");
    if (!count) return std::nullopt;
    const Members members = members_of(terms);
    struct Member {
      std::string text;
      bool required;
    };
    std::vector<Member> list;
    int64_t n_lookups = std::ssize(terms);  // a member
    for (const Term& term : terms) {
      for (const char* key : {"properties", "required"}) {
        if (const Json* keys = keyword(*term.schema, key))
          n_lookups += static_cast<int64_t>(keys->size()) / kStepsPerLookup;
      }
    }
    for (const std::string& name : members.names) {
      if (!spend(kStepsPerLookup * n_lookups)) return std::nullopt;
      const bool required = is_required(terms, name);
      const std::optional<Conjunction> sub = member_terms(terms, name);
      const Expression value = sub ? rule_of(*sub, depth + 1) : Expression();
      if (!value && required) return std::nullopt;
      if (value) list.push_back({fmt::format("{} {}", key_literal(name), *value), required});
    }
    const Expression other = other_member(terms, members, depth);
    if (count->max == 0) return R"("{" json-ws "}")";
    if (list.empty()) {
      if (!other) return count->min > 0 ? Expression() : R"("{" json-ws "}")";
      const auto less = [](int64_t v) { return std::max<int64_t>(0, v - 1); };
      const std::string more =
          counted(R"("," json-ws )" + *other, less(count->min),
                  count->max ? std::optional(less(*count->max)) : std::nullopt);
      const std::string filled = fmt::format(R"("{{" json-ws {} {} json-ws "}}")", *other, more);
      return count->min > 0 ? filled : fmt::format(R"(("{{" json-ws "}}" | {}))", filled);
    }
    // tail: what may follow once some member is written; head: while none is.
    std::string tail = other ? fmt::format(R"(("," json-ws {})*)", *other) : "\"\"";
    std::vector<std::string> heads;  // last first
    bool may_be_empty = true;
    if (other) heads.push_back(fmt::format("{} {}", *other, tail));
    for (auto member = list.rbegin(); member != list.rend(); ++member) {
      const std::string tail_name = new_name();
      define(tail_name, tail);
      const std::string here = fmt::format("{} {}", member->text, tail_name);
      if (member->required) {
        heads.clear();
        may_be_empty = false;
      }
      heads.push_back(here);
      tail = member->required ? fmt::format(R"("," json-ws {})", here)
                              : fmt::format(R"(("," json-ws {} | {}))", here, tail_name);
    }
    std::reverse(heads.begin(), heads.end());
    std::string body = fmt::format(R"("{{" json-ws {} json-ws "}}")", joined(heads));
    if (may_be_empty && count->min == 0) body = fmt::format(R"(("{{" json-ws "}}" | {}))", body);
    return body;
  }

  const Schema& schema_;
  const SchemaOptions options_;
  const std::string prefix_;
  std::string out_;
  size_t n_rules_ = 0;
  bool failed_ = false;
  int64_t steps_ = kUnhurriedSteps;
  std::map<Conjunction, Expression> rules_;
};

}  // namespace

// White space is short: a small model that may write any amount of it sometimes writes nothing
// else. Numbers have an end for the same reason.
std::string_view common_rules() {
  return R"(json-ws ::= [ ]? | "\n" [ \t]{0,24}
json-hex ::= [0-9A-Fa-f]
json-char ::= [^"\\\x00-\x1f] | "\\" json-escape
json-escape ::= ["\\/bfnrt] | "u" json-unit
json-unit ::= [0-9A-Ca-cE-Fe-f] json-hex{3} | [Dd] [0-7] json-hex{2} | [Dd] [89ABab] json-hex{2} "\\u" [Dd] [C-Fc-f] json-hex{2}
json-string ::= "\"" json-char* "\""
json-integer ::= "-"? ("0" | [1-9] [0-9]{0,17})
json-number ::= json-integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?
json-member ::= json-string ":" json-ws json-value
json-object ::= "{" json-ws "}" | "{" json-ws json-member ("," json-ws json-member)* json-ws "}"
json-array ::= "[" json-ws "]" | "[" json-ws json-value ("," json-ws json-value)* json-ws "]"
json-value ::= json-object | json-array | json-string | json-number | "true" | "false" | "null"
json-never ::= "\x00" json-never
json-date-text ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])
json-time-text ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9])
json-date ::= "\"" json-date-text "\""
json-time ::= "\"" json-time-text "\""
json-date-time ::= "\"" json-date-text "T" json-time-text "\""
json-uuid ::= "\"" json-hex{8} "-" json-hex{4} "-" json-hex{4} "-" json-hex{4} "-" json-hex{12} "\""
)";
}

Result<std::string> schema_to_ebnf(const Schema& schema, const SchemaOptions& options,
                                   std::string_view prefix) {
  return SchemaTranslator(schema, options, prefix).run();
}

}  // namespace tempo9::grammar
