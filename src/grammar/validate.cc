#include "grammar/validate.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grammar/exact_number.h"

namespace tempo9::grammar {
namespace {

constexpr int kMaxValueDepth = 400;
// Steps of validate.h, as measured.
constexpr int64_t kStepsPerRun = 40;
constexpr int64_t kStepsPerKeyword = 30;  // each is looked for among a schema's keys
constexpr int64_t kStepsPerHash = 10;

int64_t count_of_parts(const Json& value) { return static_cast<int64_t>(value.size()); }

Verdict both(Verdict a, Verdict b) {
  if (a == Verdict::kNo || b == Verdict::kNo) return Verdict::kNo;
  return a == Verdict::kOpen || b == Verdict::kOpen ? Verdict::kOpen : Verdict::kYes;
}
Verdict negated(Verdict v) {
  return v == Verdict::kOpen ? v : v == Verdict::kYes ? Verdict::kNo : Verdict::kYes;
}
Verdict verdict(bool yes) { return yes ? Verdict::kYes : Verdict::kNo; }

bool has_type(const Json& value, std::string_view type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  return type == "number" ? is_number(value) : is_integer(value);
}

// Equal values (same_value) have equal hashes.
size_t hash_of(const Json& value, int64_t* n_hashed) {
  ++*n_hashed;
  const auto mixed = [](size_t a, size_t b) {
    return (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2))) * 0xFF51AFD7ED558CCDu;
  };
  if (is_number(value)) return std::hash<double>()(static_cast<double>(as_real(value)));
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    *n_hashed += static_cast<int64_t>(text.size() / 32);
    return std::hash<std::string>()(text);
  }
  if (value.is_boolean()) return value.get<bool>() ? 1 : 2;
  size_t hash = value.is_null() ? 3 : value.is_array() ? 4 : 5;
  if (value.is_array()) {
    for (const Json& item : value) hash = mixed(hash, hash_of(item, n_hashed));
  } else if (value.is_object()) {  // in any order
    for (auto it = value.begin(); it != value.end(); ++it) {
      hash += mixed(std::hash<std::string>()(it.key()), hash_of(it.value(), n_hashed));
    }
  }
  return hash;
}

// A value, what of its children some schema has looked at, and how much of it is open.
struct Outcome {
  Verdict verdict = Verdict::kYes;
  std::vector<bool> seen = {};  // one a child; empty: none
};

class Validator {
 public:
  Validator(const Schema& schema, int64_t* steps) : schema_(schema), steps_(steps) {}

  Verdict verdict_of(const Json& s, const Json& value, size_t n_open) {
    const Verdict found = run(s, value, n_open, 0).verdict;
    if (*steps_ >= 0) return found;
    return n_open > 0 ? Verdict::kOpen : Verdict::kNo;
  }

 private:
  // False: too much is spent, and whatever is found no longer counts.
  bool spend(int64_t n) {
    *steps_ -= n;
    return *steps_ >= 0;
  }

  Outcome run(const Json& s, const Json& value, size_t n_open, int depth) {
    spend(1);
    if (s.is_boolean()) return {.verdict = verdict(s.get<bool>())};
    const int64_t n_steps =
        kStepsPerRun + kStepsPerKeyword * count_of_parts(s) + count_of_parts(value) / 8;
    if (depth > kMaxValueDepth || !spend(n_steps))
      return {.verdict = n_open > 0 ? Verdict::kOpen : Verdict::kNo};
    Frame f{.s = s, .value = value, .n_open = n_open, .depth = depth + 1};
    if (value.is_structured()) f.out.seen.resize(value.size());
    check_scalar(f);
    if (f.out.verdict != Verdict::kNo && value.is_object()) check_object(f);
    if (f.out.verdict != Verdict::kNo && value.is_array()) check_array(f);
    if (f.out.verdict != Verdict::kNo) check_combined(f);
    if (f.out.verdict != Verdict::kNo) check_unevaluated(f);
    if (n_open > 0 && f.out.verdict == Verdict::kYes && (value.is_object() || value.is_array()))
      f.out.verdict = says_something(s) ? Verdict::kOpen : Verdict::kYes;
    return std::move(f.out);
  }

  // What a reference leads to: of a value, once.
  Outcome run_target(const Json& target, const Json& value, size_t n_open, int depth) {
    spend(kStepsPerRun);
    const std::pair key(&target, &value);
    if (const auto known = done_.find(key); known != done_.end()) return known->second;
    const Outcome out = run(target, value, n_open, depth);
    done_.emplace(key, out);
    return out;
  }

  bool same(const Json& a, const Json& b) {
    int64_t n_steps = 0;
    const bool equal = same_value(a, b, &n_steps);
    return spend(n_steps) && equal;
  }

  bool matches(const std::string& pattern, const std::string& text) {
    return schema_.pattern(pattern).matches(text, steps_);
  }

  struct Frame {
    const Json& s;
    const Json& value;
    size_t n_open;
    int depth;
    Outcome out = {};
    void add(Verdict v) { out.verdict = both(out.verdict, v); }
    // Only so long as the container is open can what is missing still come.
    void missing() { add(n_open > 0 ? Verdict::kOpen : Verdict::kNo); }
    const Json* find(const char* key) const {
      const auto it = s.find(key);
      return it == s.end() ? nullptr : &*it;
    }
    size_t child_open(size_t i) const {
      return n_open > 1 && i + 1 == value.size() ? n_open - 1 : 0;
    }
    void see(const Outcome& other) {
      for (size_t i = 0; i < other.seen.size(); ++i) {
        if (other.seen[i]) out.seen[i] = true;
      }
    }
  };

  static bool says_something(const Json& s) { return !s.empty(); }

  void check_scalar(Frame& f) {
    if (const Json* type = f.find("type")) {
      spend(kStepsPerRun * count_of_parts(*type));
      const bool good =
          type->is_array()
              ? std::ranges::any_of(
                    *type, [&](const Json& t) { return has_type(f.value, t.get<std::string>()); })
              : has_type(f.value, type->get<std::string>());
      f.add(verdict(good));
    }
    if (const Json* constant = f.find("const")) add_equal(f, same(f.value, *constant));
    if (const Json* list = f.find("enum")) {
      add_equal(f, std::ranges::any_of(
                       *list, [&](const Json& v) { return *steps_ >= 0 && same(f.value, v); }));
    }
    if (is_number(f.value)) check_number(f);
    if (f.value.is_string()) check_string(f);
  }

  static void add_equal(Frame& f, bool equal) {
    f.add(f.n_open > 0 ? Verdict::kOpen : verdict(equal));
  }

  static void check_number(Frame& f) {
    const Json *minimum = f.find("minimum"), *maximum = f.find("maximum");
    const Json *above = f.find("exclusiveMinimum"), *below = f.find("exclusiveMaximum");
    const auto is_true = [](const Json* v) { return v != nullptr && *v == true; };
    if (minimum != nullptr) {
      const int order = compare_numbers(f.value, *minimum);
      f.add(verdict(is_true(above) ? order > 0 : order >= 0));
    }
    if (maximum != nullptr) {
      const int order = compare_numbers(f.value, *maximum);
      f.add(verdict(is_true(below) ? order < 0 : order <= 0));
    }
    if (above != nullptr && above->is_number())
      f.add(verdict(compare_numbers(f.value, *above) > 0));
    if (below != nullptr && below->is_number())
      f.add(verdict(compare_numbers(f.value, *below) < 0));
    if (const Json* of = f.find("multipleOf")) f.add(verdict(is_multiple(f.value, *of)));
  }

  void check_string(Frame& f) {
    const auto& text = f.value.get_ref<const std::string&>();
    const Json *min = f.find("minLength"), *max = f.find("maxLength");
    if (min != nullptr || max != nullptr) {
      spend(static_cast<int64_t>(text.size()));
      const auto n = static_cast<int64_t>(count_characters(text));
      if (min != nullptr) f.add(verdict(n >= as_int64(*min)));
      if (max != nullptr) f.add(verdict(n <= as_int64(*max)));
    }
    if (const Json* pattern = f.find("pattern"))
      f.add(verdict(matches(pattern->get_ref<const std::string&>(), text)));
  }

  void check_count(Frame& f, const char* min_key, const char* max_key) {
    const auto n = static_cast<int64_t>(f.value.size());
    if (const Json* min = f.find(min_key); min != nullptr && n < as_int64(*min)) f.missing();
    if (const Json* max = f.find(max_key); max != nullptr && n > as_int64(*max))
      f.add(Verdict::kNo);
  }

  void check_names(Frame& f, const Json& names) {
    for (const Json& name : names) {
      if (!spend(1 + count_of_parts(f.value))) return;
      if (!f.value.contains(name.get_ref<const std::string&>())) f.missing();
    }
  }

  void check_object(Frame& f) {
    if (const Json* required = f.find("required"); required != nullptr && required->is_array())
      check_names(f, *required);
    check_count(f, "minProperties", "maxProperties");
    const Json* properties = f.find("properties");
    const Json* patterns = f.find("patternProperties");
    const Json* others = f.find("additionalProperties");
    const Json* names = f.find("propertyNames");
    size_t i = 0;
    for (auto it = f.value.begin(); it != f.value.end(); ++it, ++i) {
      const size_t n_open = f.child_open(i);
      bool known = false;
      const auto use = [&](const Json& sub) {
        known = true;
        f.out.seen[i] = true;
        f.add(run(sub, it.value(), n_open, f.depth).verdict);
      };
      if (properties != nullptr) {
        spend(count_of_parts(*properties));
        if (auto p = properties->find(it.key()); p != properties->end()) use(*p);
      }
      if (patterns != nullptr) {
        for (auto p = patterns->begin(); p != patterns->end(); ++p) {
          if (*steps_ >= 0 && matches(p.key(), it.key())) use(p.value());
        }
      }
      if (others != nullptr && !known) use(*others);
      if (names != nullptr) f.add(run(*names, keys_.emplace_back(it.key()), 0, f.depth).verdict);
      if (f.out.verdict == Verdict::kNo || *steps_ < 0) return;
    }
    for (const char* key : {"dependentRequired", "dependentSchemas", "dependencies"}) {
      const Json* dependents = f.find(key);
      if (dependents == nullptr) continue;
      for (auto it = dependents->begin(); it != dependents->end(); ++it) {
        if (!spend(1 + count_of_parts(f.value))) return;
        if (!f.value.contains(it.key())) continue;
        if (it.value().is_array()) {
          check_names(f, it.value());
          continue;
        }
        const Outcome inner = run(it.value(), f.value, f.n_open, f.depth);
        f.add(inner.verdict);
        f.see(inner);
      }
    }
  }

  void check_array(Frame& f) {
    check_count(f, "minItems", "maxItems");
    const Json* prefix = f.find("prefixItems");
    const Json* items = f.find("items");
    if (items != nullptr && items->is_array()) {  // before 2020-12
      prefix = items;
      items = f.find("additionalItems");
    }
    const size_t n_prefix = prefix != nullptr ? prefix->size() : 0;
    for (size_t i = 0; i < f.value.size() && f.out.verdict != Verdict::kNo; ++i) {
      const Json* sub = i < n_prefix ? &(*prefix)[i] : items;
      if (sub == nullptr) continue;
      f.out.seen[i] = true;
      f.add(run(*sub, f.value[i], f.child_open(i), f.depth).verdict);
    }
    if (const Json* unique = f.find("uniqueItems"); unique != nullptr && *unique == true)
      check_unique(f);
    if (const Json* contains = f.find("contains")) check_contains(f, *contains);
  }

  // Items whose hashes are equal stand side by side and are compared.
  void check_unique(Frame& f) {
    const size_t n = f.value.size() - (f.n_open > 1 && !f.value.empty() ? 1 : 0);
    std::vector<std::pair<size_t, size_t>> hashes(n);
    for (size_t i = 0; i < n; ++i) {
      int64_t n_hashed = 0;
      hashes[i] = {hash_of(f.value[i], &n_hashed), i};
      if (!spend(kStepsPerHash * n_hashed)) return;
    }
    std::ranges::sort(hashes);
    for (size_t i = 1; i < n; ++i) {
      for (size_t k = i; k-- > 0 && hashes[k].first == hashes[i].first;) {
        if (same(f.value[hashes[k].second], f.value[hashes[i].second])) return f.add(Verdict::kNo);
        if (*steps_ < 0) return;
      }
    }
  }

  void check_contains(Frame& f, const Json& contains) {
    const Json *min = f.find("minContains"), *max = f.find("maxContains");
    int64_t n = 0;
    for (size_t i = 0; i < f.value.size(); ++i) {
      if (run(contains, f.value[i], f.child_open(i), f.depth).verdict != Verdict::kYes) continue;
      ++n;
      f.out.seen[i] = true;
    }
    if (n < (min != nullptr ? as_int64(*min) : 1)) f.missing();
    if (max != nullptr && n > as_int64(*max)) f.add(Verdict::kNo);
  }

  void check_combined(Frame& f) {
    if (const Json* ref = f.find("$ref"))
      use(f, run_target(schema_.target(*ref), f.value, f.n_open, f.depth));
    if (const Json* all = f.find("allOf")) {
      for (const Json& sub : *all) {
        if (f.out.verdict != Verdict::kNo) use(f, run(sub, f.value, f.n_open, f.depth));
      }
    }
    if (const Json* any = f.find("anyOf")) check_any(f, *any);
    if (const Json* one = f.find("oneOf")) check_one(f, *one);
    if (const Json* never = f.find("not"))
      f.add(negated(run(*never, f.value, f.n_open, f.depth).verdict));
    if (const Json* condition = f.find("if")) check_if(f, *condition);
  }

  static void use(Frame& f, const Outcome& inner) {
    f.add(inner.verdict);
    f.see(inner);
  }

  void check_any(Frame& f, const Json& branches) {
    Verdict any = Verdict::kNo;
    for (const Json& branch : branches) {
      const Outcome inner = run(branch, f.value, f.n_open, f.depth);
      if (inner.verdict == Verdict::kYes) any = Verdict::kYes;
      if (inner.verdict == Verdict::kOpen && any == Verdict::kNo) any = Verdict::kOpen;
      if (inner.verdict != Verdict::kNo) f.see(inner);
    }
    f.add(any);
  }

  void check_one(Frame& f, const Json& branches) {
    size_t n_yes = 0, n_unsure = 0;
    for (const Json& branch : branches) {
      const Outcome inner = run(branch, f.value, f.n_open, f.depth);
      n_yes += inner.verdict == Verdict::kYes;
      n_unsure += inner.verdict == Verdict::kOpen;
      if (inner.verdict != Verdict::kNo) f.see(inner);
    }
    if (n_yes > 1 || n_yes + n_unsure == 0) return f.add(Verdict::kNo);
    f.add(n_unsure > 0 ? Verdict::kOpen : Verdict::kYes);
  }

  void check_if(Frame& f, const Json& condition) {
    const Outcome when = run(condition, f.value, f.n_open, f.depth);
    if (when.verdict != Verdict::kNo) f.see(when);
    const auto branch = [&](const char* key) {
      const Json* sub = f.find(key);
      return sub == nullptr ? Outcome{} : run(*sub, f.value, f.n_open, f.depth);
    };
    if (when.verdict != Verdict::kOpen) {
      const Outcome chosen = branch(when.verdict == Verdict::kYes ? "then" : "else");
      f.add(chosen.verdict);
      if (chosen.verdict != Verdict::kNo) f.see(chosen);
      return;
    }
    const bool hopeless =
        branch("then").verdict == Verdict::kNo && branch("else").verdict == Verdict::kNo;
    f.add(hopeless ? Verdict::kNo : Verdict::kOpen);
  }

  // Last: what no keyword beside it has looked at. While something is open it cannot be known.
  void check_unevaluated(Frame& f) {
    const Json* sub = f.find(f.value.is_object() ? "unevaluatedProperties" : "unevaluatedItems");
    if (sub == nullptr || !f.value.is_structured()) return;
    if (f.n_open > 0) return f.add(Verdict::kOpen);
    size_t i = 0;
    for (auto it = f.value.begin(); it != f.value.end(); ++it, ++i) {
      if (f.out.seen[i]) continue;
      f.out.seen[i] = true;
      f.add(run(*sub, *it, 0, f.depth).verdict);
    }
  }

  const Schema& schema_;
  int64_t* steps_;
  std::map<std::pair<const Json*, const Json*>, Outcome> done_;  // of references: target, value
  std::deque<Json> keys_;  // as values; kept, since done_ knows values by their addresses
};

}  // namespace

Verdict validate(const Schema& schema, const Json& value, size_t n_open, int64_t* steps) {
  return Validator(schema, steps).verdict_of(schema.root(), value, n_open);
}

Verdict validate_part(const Schema& schema, const Json& part, const Json& value, int64_t* steps) {
  return Validator(schema, steps).verdict_of(part, value, 0);
}

Verdict validate(const Schema& schema, const Json& value, size_t n_open) {
  int64_t steps = kUnhurriedSteps;
  return validate(schema, value, n_open, &steps);
}

Verdict ReplyValidator::check(const Schema& schema, const Json& value, size_t n_open) {
  const int64_t left = n_open > 0 ? left_ - limits_.whole : left_;
  int64_t steps = std::clamp<int64_t>(left, 0, limits_.check);
  const int64_t before = steps;
  const Verdict found = validate(schema, value, n_open, &steps);
  left_ -= before - steps;
  return found;
}

}  // namespace tempo9::grammar
