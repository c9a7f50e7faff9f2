#include "grammar/schema.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/percent.h"
#include "grammar/exact_number.h"
#include "grammar/uri.h"

namespace tempo9::grammar {
namespace {

constexpr size_t kMaxParts = 100'000;
constexpr size_t kMaxPatternStates = 2'000'000;  // some 60 bytes each
constexpr size_t kMaxDroppedParts = 100;         // one by one

enum class Form {
  kSchema,
  kSchemas,    // an array of them
  kSchemaMap,  // an object of them
  kItems,      // a schema, or in older schemas an array of them
  kType,
  kCount,  // a whole number from 0 on
  kNumber,
  kBound,  // a number, or in older schemas true beside minimum or maximum
  kPositive,
  kFlag,
  kNames,         // an array of strings
  kNameMap,       // an object of arrays of strings
  kDependencies,  // an object of schemas or arrays of strings
  kPattern,
  kReference,
  kList,
  kRefused,
};

struct Keyword {
  std::string_view name;
  Form form;
};

bool is_amount(Form form) {
  return form == Form::kCount || form == Form::kNumber || form == Form::kBound ||
         form == Form::kPositive;
}

constexpr Keyword kKeywords[] = {
    {"$ref", Form::kReference},
    {"$dynamicRef", Form::kRefused},
    {"$recursiveRef", Form::kRefused},
    {"$defs", Form::kSchemaMap},
    {"definitions", Form::kSchemaMap},
    {"type", Form::kType},
    {"enum", Form::kList},
    {"allOf", Form::kSchemas},
    {"anyOf", Form::kSchemas},
    {"oneOf", Form::kSchemas},
    {"not", Form::kSchema},
    {"if", Form::kSchema},
    {"then", Form::kSchema},
    {"else", Form::kSchema},
    {"properties", Form::kSchemaMap},
    {"patternProperties", Form::kSchemaMap},
    {"additionalProperties", Form::kSchema},
    {"unevaluatedProperties", Form::kSchema},
    {"propertyNames", Form::kSchema},
    {"required", Form::kNames},
    {"minProperties", Form::kCount},
    {"maxProperties", Form::kCount},
    {"dependentRequired", Form::kNameMap},
    {"dependentSchemas", Form::kSchemaMap},
    {"dependencies", Form::kDependencies},
    {"prefixItems", Form::kSchemas},
    {"items", Form::kItems},
    {"additionalItems", Form::kSchema},
    {"unevaluatedItems", Form::kSchema},
    {"contains", Form::kSchema},
    {"minContains", Form::kCount},
    {"maxContains", Form::kCount},
    {"minItems", Form::kCount},
    {"maxItems", Form::kCount},
    {"uniqueItems", Form::kFlag},
    {"minLength", Form::kCount},
    {"maxLength", Form::kCount},
    {"pattern", Form::kPattern},
    {"minimum", Form::kNumber},
    {"maximum", Form::kNumber},
    {"exclusiveMinimum", Form::kBound},
    {"exclusiveMaximum", Form::kBound},
    {"multipleOf", Form::kPositive},
};

constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "object", "array",
                                                    "number", "integer", "string"};

std::string shown(const Json& value) {
  std::string text = is_number(value) ? number_text(value)
                                      : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

bool is_type(const Json& value) {
  return value.is_string() && std::ranges::count(kTypes, value.get_ref<const std::string&>()) > 0;
}

bool is_count(const Json& value) {
  if (value.is_number_unsigned()) return true;
  if (value.is_number_integer()) return value.get<int64_t>() >= 0;
  return value.is_number_float() && value.get<double>() >= 0 && is_integer(value);
}

bool all_strings(const Json& value) {
  return value.is_array() &&
         std::ranges::all_of(value, [](const Json& v) { return v.is_string(); });
}

}  // namespace

class SchemaReader {
 public:
  explicit SchemaReader(const SchemaOptions& options) : options_(options) {}

  Result<Schema> read(Json root) {
    out_.root_ = std::make_shared<Json>(std::move(root));
    T9_TRY(visit(out_.root_.get(), "", "", 0));
    for (size_t i = 0; i < references_.size(); ++i) {
      const Reference reference = references_[i];
      T9_TRY(keep_or_drop(reference, resolve(reference)));
    }
    // What a later reference led to may have taken out an earlier one's target.
    for (const Reference& reference : references_) {
      const Json* ref = find_ref(reference);
      if (ref == nullptr || find_target(*ref) != nullptr) continue;
      T9_TRY(keep_or_drop(reference, no_target(reference, *ref)));
    }
    for (const Reference& reference : references_) {
      const Json* ref = find_ref(reference);
      if (ref != nullptr) out_.targets_[ref->get<std::string>()] = find_target(*ref);
    }
    return std::move(out_);
  }

 private:
  struct Reference {
    std::string path;  // of the schema that has it
    std::string base;
  };

  // A reference that leads nowhere is an error, or is taken out.
  Status keep_or_drop(const Reference& reference, const Status& status) {
    if (status) return {};
    if (!options_.lenient) return status.error();
    out_.warnings_.push_back(status.error().message);
    if (find_ref(reference) != nullptr)
      find_pointer(out_.root_.get(), reference.path)->erase("$ref");
    return {};
  }

  // Null: the part of the schema that had it was taken out.
  Json* find_ref(const Reference& reference) {
    Json* holder = find_pointer(out_.root_.get(), reference.path);
    if (holder == nullptr || !holder->is_object()) return nullptr;
    const auto ref = holder->find("$ref");
    return ref != holder->end() && ref->is_string() ? &*ref : nullptr;
  }

  // ref: as resolve() writes it.
  const Json* find_target(const Json& ref) {
    return find_pointer(out_.root_.get(),
                        std::string_view(ref.get_ref<const std::string&>()).substr(1));
  }

  static Error no_target(const Reference& reference, const Json& ref) {
    return error(reference.path, "$ref", ref,
                 "a reference to a part of this schema (others are not fetched)");
  }

  static Error error(std::string_view path, std::string_view keyword, const Json& found,
                     std::string_view expected) {
    return make_error(ErrorCode::kInvalidArgument, "#{}: {}: found {}, expected {}", path, keyword,
                      shown(found), expected);
  }

  Status visit(Json* schema, const std::string& path, std::string base, int depth) {
    if (schema->is_boolean()) return {};
    if (!schema->is_object()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "#{}: found {}, expected a schema (an object, true or false)", path,
                        shown(*schema));
    }
    if (depth > kMaxSchemaDepth) {
      return make_error(ErrorCode::kInvalidArgument,
                        "#{}: found schemas nested deeper than {}, expected at most that", path,
                        kMaxSchemaDepth);
    }
    if (!visited_.insert(path).second) return {};
    if (visited_.size() > kMaxParts) {
      return make_error(ErrorCode::kInvalidArgument,
                        "#{}: found more than {} parts, expected a smaller schema", path,
                        kMaxParts);
    }
    if (auto id = schema->find("$id"); id != schema->end() && id->is_string())
      base = without_fragment(resolve_uri(base, id->get<std::string>()));
    if (schema->contains("$id") || path.empty()) resources_.emplace(base, path);
    for (const char* key : {"$anchor", "$dynamicAnchor"}) {
      if (auto anchor = schema->find(key); anchor != schema->end() && anchor->is_string())
        anchors_.emplace(base + "#" + anchor->get<std::string>(), path);
    }
    if (path.empty()) resources_.emplace("", path);

    std::vector<std::string> dropped;
    for (const Keyword& keyword : kKeywords) {
      const auto value = schema->find(std::string(keyword.name));
      if (value == schema->end()) continue;
      const Status status = check(keyword, &*value, path, base, depth);
      if (status) continue;
      if (!options_.lenient || depth > kMaxSchemaDepth) return status.error();
      out_.warnings_.push_back(status.error().message);
      dropped.emplace_back(keyword.name);
    }
    for (const std::string& name : dropped) schema->erase(name);
    if (schema->contains("$ref")) references_.push_back({path, base});
    return {};
  }

  Status visit_map(const Keyword& keyword, Json* map, const std::string& path,
                   const std::string& base, int depth) {
    if (!map->is_object()) return error(path, keyword.name, *map, "an object of schemas");
    std::vector<std::string> dropped;
    for (auto it = map->begin(); it != map->end(); ++it) {
      if (keyword.name == "patternProperties") {
        const Status status = add_pattern(path, keyword.name, it.key());
        if (!status) {
          T9_TRY(drop_part(status));
          dropped.push_back(it.key());
          continue;
        }
      }
      T9_TRY(visit_part(&it.value(), child(child(path, keyword.name), it.key()), base, depth));
    }
    for (const std::string& key : dropped) map->erase(key);
    return {};
  }

  Status visit_list(const Keyword& keyword, Json* list, const std::string& path,
                    const std::string& base, int depth) {
    if (!list->is_array() || (list->empty() && keyword.form == Form::kSchemas))
      return error(path, keyword.name, *list, "an array of schemas");
    for (size_t i = 0; i < list->size(); ++i) {
      Json* item = &(*list)[i];
      const std::string item_path = child(child(path, keyword.name), std::to_string(i));
      // Of oneOf, a branch that lets everything through would turn the others down.
      T9_TRY(keyword.name == "oneOf" ? visit(item, item_path, base, depth + 1)
                                     : visit_part(item, item_path, base, depth));
    }
    return {};
  }

  // One of several schemas. What cannot be held is made to hold always: the others keep their
  // places, and a declared key stays declared.
  Status visit_part(Json* schema, const std::string& path, const std::string& base, int depth) {
    const Status status = visit(schema, path, base, depth + 1);
    if (status) return {};
    T9_TRY(drop_part(status));
    *schema = true;
    return {};
  }

  // An error, so that all of the keyword goes, when there are many.
  Status drop_part(const Status& status) {
    if (!options_.lenient || ++n_dropped_ > kMaxDroppedParts) return status.error();
    out_.warnings_.push_back(status.error().message);
    return {};
  }

  Status add_pattern(const std::string& path, std::string_view keyword,
                     const std::string& pattern) {
    if (out_.patterns_.contains(pattern)) return {};
    auto parsed = [&]() -> Result<Schema::Pattern> {
      T9_TRY(RegexNode node, parse_regex(pattern));
      T9_TRY(node, whole_text(node));
      if (n_states_ > kMaxPatternStates) {
        return make_error(ErrorCode::kUnsupported, "patterns of more than {} states together",
                          kMaxPatternStates);
      }
      auto matcher = RegexMatcher::make(node);
      n_states_ += matcher ? matcher->n_states() : kMaxPatternStates / 20;
      if (!matcher) return matcher.error();
      return Schema::Pattern{std::move(node), std::move(*matcher)};
    }();
    if (!parsed) {
      return make_error(ErrorCode::kInvalidArgument, "#{}: {}: {}: {}", path, keyword,
                        shown(Json(pattern)), parsed.error().message);
    }
    out_.patterns_.emplace(pattern, std::move(*parsed));
    return {};
  }

  Status check(const Keyword& keyword, Json* value, const std::string& path,
               const std::string& base, int depth) {
    const std::string_view name = keyword.name;
    if (is_amount(keyword.form) && is_long_integer(*value))
      *value = static_cast<double>(as_real(*value));
    switch (keyword.form) {
      case Form::kSchema:
        return visit(value, child(path, name), base, depth + 1);
      case Form::kSchemas:
        return visit_list(keyword, value, path, base, depth);
      case Form::kItems:
        if (value->is_array()) return visit_list(keyword, value, path, base, depth);
        return visit(value, child(path, name), base, depth + 1);
      case Form::kSchemaMap:
        return visit_map(keyword, value, path, base, depth);
      case Form::kDependencies:
        if (!value->is_object()) return error(path, name, *value, "an object");
        for (auto it = value->begin(); it != value->end(); ++it) {
          if (all_strings(it.value())) continue;
          T9_TRY(visit_part(&it.value(), child(child(path, name), it.key()), base, depth));
        }
        return {};
      case Form::kType: {
        const bool good = value->is_array()
                              ? !value->empty() && std::ranges::all_of(*value, is_type)
                              : is_type(*value);
        if (good) return {};
        return error(path, name, *value,
                     fmt::format("one of {}, or an array of them", fmt::join(kTypes, ", ")));
      }
      case Form::kCount:
        return is_count(*value) ? Status() : error(path, name, *value, "a whole number from 0 on");
      case Form::kNumber:
        return value->is_number() ? Status() : error(path, name, *value, "a number");
      case Form::kBound:
        if (value->is_number() || value->is_boolean()) return {};
        return error(path, name, *value, "a number");
      case Form::kPositive:
        if (value->is_number() && value->get<double>() > 0) return {};
        return error(path, name, *value, "a number above 0");
      case Form::kFlag:
        return value->is_boolean() ? Status() : error(path, name, *value, "true or false");
      case Form::kNames:
        return all_strings(*value) ? Status() : error(path, name, *value, "an array of strings");
      case Form::kNameMap:
        if (value->is_object() && std::ranges::all_of(*value, all_strings)) return {};
        return error(path, name, *value, "an object of arrays of strings");
      case Form::kPattern:
        if (!value->is_string()) return error(path, name, *value, "a regular expression");
        return add_pattern(path, name, value->get<std::string>());
      case Form::kReference:
        return value->is_string() ? Status() : error(path, name, *value, "a string");
      case Form::kList:
        return value->is_array() ? Status() : error(path, name, *value, "an array");
      case Form::kRefused:
        return error(path, name, *value, "a schema without this keyword: it is not available");
    }
    return {};
  }

  Status resolve(const Reference& reference) {
    const Json* found = find_ref(reference);
    if (found == nullptr) return {};
    const Json ref = *found;
    const std::string uri = resolve_uri(reference.base, ref.get<std::string>());
    const std::string fragment = percent_decode(fragment_of(uri));
    const std::string base = without_fragment(uri);
    std::optional<std::string> target;
    if (fragment.empty() || fragment[0] == '/') {
      if (auto resource = resources_.find(base); resource != resources_.end())
        target = resource->second + fragment;
    } else if (auto anchor = anchors_.find(base + "#" + fragment); anchor != anchors_.end()) {
      target = anchor->second;
    }
    Json* schema = target ? find_pointer(out_.root_.get(), *target) : nullptr;
    if (schema == nullptr) return no_target(reference, ref);
    T9_TRY(visit(schema, *target, base, 0));
    if (Json* kept = find_ref(reference)) *kept = fmt::format("#{}", *target);
    return {};
  }

  const SchemaOptions options_;
  Schema out_;
  std::set<std::string, std::less<>> visited_;
  std::map<std::string, std::string, std::less<>> resources_;  // URI to path
  std::map<std::string, std::string, std::less<>> anchors_;
  std::vector<Reference> references_;
  size_t n_dropped_ = 0;  // entries of maps and lists
  size_t n_states_ = 0;   // of patterns
};

Result<Schema> Schema::read(Json schema, const SchemaOptions& options) {
  return SchemaReader(options).read(std::move(schema));
}

Result<Schema> Schema::parse(std::string_view text, const SchemaOptions& options) {
  T9_TRY(Json schema, parse_json(text));
  return read(std::move(schema), options);
}

const Json& Schema::target(const Json& ref) const {
  const auto it = targets_.find(ref.get_ref<const std::string&>());
  T9_CHECK(it != targets_.end());
  return *it->second;
}

const RegexMatcher& Schema::pattern(const std::string& pattern) const {
  const auto it = patterns_.find(pattern);
  T9_CHECK(it != patterns_.end());
  return it->second.matcher;
}

const RegexNode& Schema::pattern_node(const std::string& pattern) const {
  const auto it = patterns_.find(pattern);
  T9_CHECK(it != patterns_.end());
  return it->second.node;
}

bool same_value(const Json& a, const Json& b, int64_t* n_steps) {
  if (n_steps != nullptr) ++*n_steps;
  if (a.is_object() && b.is_object()) {
    if (a.size() != b.size()) return false;
    return std::ranges::all_of(a.items(), [&](const auto& item) {
      if (n_steps != nullptr) *n_steps += static_cast<int64_t>(b.size());
      const auto other = b.find(item.key());
      return other != b.end() && same_value(item.value(), *other, n_steps);
    });
  }
  if (a.is_array() && b.is_array()) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [n_steps](const Json& x, const Json& y) {
             return same_value(x, y, n_steps);
           });
  }
  return is_number(a) && is_number(b) ? compare_numbers(a, b) == 0 : a == b;
}

}  // namespace tempo9::grammar
