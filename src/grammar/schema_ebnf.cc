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
  SchemaTranslator(const Schema& schema, const SchemaOptions& options, std::string_view prefix,
                   const Notation& notation)
      : schema_(schema), options_(options), prefix_(prefix), notation_(notation) {}

  Result<std::string> run() {
    Conjunction root;
    root.push_back({&schema_.root()});
    const bool is_json = notation_.style == Notation::Style::kJson;
    const Expression value = rule_of(root, 0, is_json ? Place::kValue : Place::kArguments);
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

  Expression rule_of(const Conjunction& unflat, int depth, Place place = Place::kValue) {
    if (failed_ || depth > kMaxEbnfDepth) {
      failed_ = true;
      return std::nullopt;
    }
    int64_t n_terms = 1;
    const std::optional<Conjunction> terms = flattened(schema_, unflat, &n_terms);
    if (!spend(kStepsPerTerm * n_terms) || !terms) return std::nullopt;
    if (terms->empty() && place != Place::kArguments) return any_value(notation_, place);
    const std::pair key(place, *terms);
    if (const auto known = rules_.find(key); known != rules_.end()) return known->second;
    // Named before its body is known: a schema may contain itself.
    const std::string name = new_name();
    rules_.emplace(key, name);
    const Expression body = body_of(*terms, depth, place);
    define(name, body ? *body : "json-never");
    if (!body) rules_[key] = std::nullopt;
    return body ? Expression(name) : std::nullopt;
  }

  Expression body_of(const Conjunction& terms, int depth, Place place) {
    const auto values = listed_values(terms);
    if (values && place != Place::kArguments) return literal_body(terms, *values, place);
    if (const auto choices = alternatives(terms)) {
      std::vector<std::string> branches;
      std::set<std::string> seen;
      for (size_t i = 0; i < choices->size() && !failed_; ++i) {
        const Expression branch = rule_of(choices->branch(i), depth + 1, place);
        if (branch && seen.insert(*branch).second) branches.push_back(*branch);
      }
      return branches.empty() ? Expression() : joined(branches);
    }
    return typed_body(terms, depth, place);
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

  Expression literal_body(const Conjunction& terms, const std::vector<Json>& values, Place place) {
    std::vector<std::string> branches;
    for (const Json& value : values) {
      if (!may_be(value.is_string() ? "string" : "", place)) continue;
      const bool fits = std::ranges::all_of(terms, [&](const Term& term) {
        return validate_part(schema_, *term.schema, value, &steps_) == Verdict::kYes;
      });
      if (!spend(1)) break;
      if (fits) branches.push_back(value_literal(value, notation_, place));
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

  static bool may_be(std::string_view type, Place place) {
    if (place == Place::kArguments) return type == "object";
    if (place == Place::kText) return type == "string";
    return place == Place::kValue || type != "string";
  }

  Expression typed_body(const Conjunction& terms, int depth, Place place) {
    std::vector<std::string> branches;
    const auto add = [&](Expression branch) {
      if (branch) branches.push_back(std::move(*branch));
    };
    const auto may = [&](std::string_view type) {
      return may_be(type, place) && allows(terms, type);
    };
    if (may("object")) add(object_body(terms, depth, place));
    if (may("array")) add(array_body(terms, depth));
    if (may("string")) add(string_body(schema_, terms, notation_, place));
    if (may("number")) {
      add(number_body(terms, false));
    } else if (may("integer")) {
      add(number_body(terms, true));
    }
    if (may("boolean")) {
      for (const char* word : {"true", "false"}) add(word_literal(word, notation_, place));
    }
    if (may("null")) add(word_literal("null", notation_, place));
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

  // A key and its value; no value: nothing fits.
  Expression member(const std::string& key, const Conjunction& value, int depth, Place place) {
    if (place != Place::kArguments || notation_.style != Notation::Style::kParameters) {
      const Expression rule = rule_of(value, depth + 1);
      return rule ? Expression(fmt::format("{} {}", key, *rule)) : std::nullopt;
    }
    const Expression text = rule_of(value, depth + 1, Place::kText);
    const std::string& data_end =
        notation_.key_end_json.empty() ? notation_.key_end : notation_.key_end_json;
    // Where any text may stand, what looks like JSON is text too.
    const bool is_any =
        text == any_value(notation_, Place::kText) && notation_.key_end_json.empty();
    const Expression data = is_any ? std::nullopt : rule_of(value, depth + 1, Place::kData);
    std::vector<std::string> ends;
    if (text) ends.push_back(fmt::format("{} {}", notation_.key_end, *text));
    if (data) ends.push_back(fmt::format("{} {}", data_end, *data));
    if (ends.empty()) return std::nullopt;
    return fmt::format("{} {} {} {}", notation_.key_begin, key, joined(ends), notation_.value_end);
  }

  // A member with a key that no term names; no value: there are none.
  Expression other_member(const Conjunction& terms, const Members& members, int depth,
                          Place place) {
    if (options_.closed_objects && members.declares && !members.speaks_of_others)
      return std::nullopt;
    Conjunction others, names, unevaluated;
    std::vector<std::string> branches;
    const auto add = [&](Expression branch) {
      if (branch) branches.push_back(std::move(*branch));
    };
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
        if (const auto key = key_of_pattern(schema_.pattern_node(p.key()), notation_, place))
          add(member(*key, {{&*p}}, depth, place));
      }
    }
    Expression key = any_key(notation_, place);
    if (!names.empty() && notation_.style == Notation::Style::kJson) {
      static const Json kString = {{"type", "string"}};
      names.push_back({&kString});
      key = rule_of(names, depth + 1);
      if (key) *key += " \":\" json-ws";
    }
    if (key) add(member(*key, others, depth, place));
    if (branches.empty()) return std::nullopt;
    const std::string name = new_name();
    define(name, joined(branches));
    return name;
  }

  Expression object_body(const Conjunction& terms, int depth, Place place) {
    const std::optional<Count> count = count_of(terms, "minProperties", "maxProperties");
    if (!count) return std::nullopt;
    const Members members = members_of(terms);
    const Brackets marks = object_brackets(notation_, place);
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
      const Expression text =
          sub ? member(key_literal(name, notation_, place), *sub, depth, place) : std::nullopt;
      if (!text && required) return std::nullopt;
      if (text) list.push_back({*text, required});
    }
    const Expression other = other_member(terms, members, depth, place);
    if (count->max == 0) return marks.empty;
    if (list.empty()) {
      if (!other) return count->min > 0 ? Expression() : marks.empty;
      const auto less = [](int64_t v) { return std::max<int64_t>(0, v - 1); };
      const std::string more =
          counted(marks.comma + *other, less(count->min),
                  count->max ? std::optional(less(*count->max)) : std::nullopt);
      const std::string filled = fmt::format("{}{} {}{}", marks.open, *other, more, marks.close);
      return count->min > 0 ? filled : fmt::format("({} | {})", marks.empty, filled);
    }
    // tail: what may follow once some member is written; head: while none is.
    std::string tail = other ? fmt::format("({}{})*", marks.comma, *other) : "\"\"";
    std::vector<std::string> heads;  // last first
    bool may_be_empty = true;
    if (other) heads.push_back(fmt::format("{} {}", *other, tail));
    for (auto entry = list.rbegin(); entry != list.rend(); ++entry) {
      const std::string tail_name = new_name();
      define(tail_name, tail);
      const std::string here = fmt::format("{} {}", entry->text, tail_name);
      if (entry->required) {
        heads.clear();
        may_be_empty = false;
      }
      heads.push_back(here);
      tail = entry->required ? marks.comma + here
                             : fmt::format("({}{} | {})", marks.comma, here, tail_name);
    }
    std::reverse(heads.begin(), heads.end());
    std::string body = fmt::format("({}{}{})", marks.open, joined(heads), marks.close);
    if (may_be_empty && count->min == 0) body = fmt::format("({} | {})", marks.empty, body);
    return body;
  }

  const Schema& schema_;
  const SchemaOptions options_;
  const std::string prefix_;
  const Notation& notation_;
  std::string out_;
  size_t n_rules_ = 0;
  bool failed_ = false;
  int64_t steps_ = kUnhurriedSteps;
  std::map<std::pair<Place, Conjunction>, Expression> rules_;
};

}  // namespace

Result<std::string> schema_to_ebnf(const Schema& schema, const SchemaOptions& options,
                                   std::string_view prefix, const Notation& notation) {
  return SchemaTranslator(schema, options, prefix, notation).run();
}

}  // namespace tempo9::grammar
