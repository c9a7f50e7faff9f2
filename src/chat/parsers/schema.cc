#include "chat/parsers/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/exact_json.h"

namespace tempo9::chat {
namespace {

constexpr int kMaxSchemaDepth = 64;

bool has_type(const Json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  const bool is_number = value.is_number() || exact_number(value) != nullptr;
  if (type == "number") return is_number;
  if (type == "integer") {
    return value.is_number_integer() || is_long_integer(value) ||
           (is_number && std::floor(to_double(value)) == to_double(value));
  }
  return true;  // a type that we do not know forbids nothing
}

// JSON, or what Python prints for it: True, None and single quotes are common slips of models.
std::optional<Json> parse_loose(std::string_view text) {
  if (std::optional<Json> value = parse_exactly(text)) return value;
  std::string fixed;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote != '\0') {
      if (c == '\\' && i + 1 < text.size()) {
        if (text[i + 1] != '\'') fixed += c;
        fixed += text[++i];
      } else if (c == quote) {
        fixed += '"';
        quote = '\0';
      } else {
        fixed += c == '"' ? "\\\"" : std::string(1, c);
      }
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = c;
      fixed += '"';
      continue;
    }
    bool replaced = false;
    for (auto [python, json] : {std::pair<std::string_view, std::string_view>{"True", "true"},
                                {"False", "false"},
                                {"None", "null"}}) {
      if (text.substr(i, python.size()) != python) continue;
      fixed += json;
      i += python.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) fixed += c;
  }
  return parse_exactly(fixed);
}

std::optional<Json> to_type(const Json& value, std::string_view type) {
  const bool is_float = value.is_number_float() || exact_number(value) != nullptr;
  if (type == "integer" && is_float && !is_long_integer(value)) {
    const double d = to_double(value);
    if (std::floor(d) == d && std::fabs(d) < 9e15) return Json(static_cast<int64_t>(d));
    return value;
  }
  if (has_type(value, type)) return value;
  if (type == "string") {
    if (value.is_null()) return std::nullopt;
    return Json(dump_exactly(value));
  }
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (type == "boolean") {
    if (text == "true" || text == "True") return Json(true);
    if (text == "false" || text == "False") return Json(false);
    return std::nullopt;
  }
  if (type == "null") {
    if (text == "null" || text == "None") return Json(nullptr);
    return std::nullopt;
  }
  std::optional<Json> parsed = parse_loose(text);
  if (!parsed || !has_type(*parsed, type)) return std::nullopt;
  return to_type(*parsed, type);
}

class Coercer {
 public:
  explicit Coercer(const Json& root) : root_(root) {}

  Json run(const Json& value, const Json& schema, int depth) {
    const Json* s = resolve(schema);
    if (s == nullptr || depth > kMaxSchemaDepth || --steps_ < 0) return value;
    for (const char* keyword : {"anyOf", "oneOf"}) {
      if (auto it = s->find(keyword); it != s->end() && it->is_array())
        return choose(value, *it, depth);
    }
    Json out = value;
    if (auto all = s->find("allOf"); all != s->end() && all->is_array()) {
      for (const Json& part : *all) out = run(out, part, depth + 1);
    }
    std::vector<std::string> types = types_of(*s);
    bool fits = types.empty() || std::any_of(types.begin(), types.end(),
                                             [&](const auto& t) { return has_type(out, t); });
    if (!fits || (types.size() == 1 && types[0] == "integer")) out = first_fit(out, types);
    return inside(std::move(out), *s, depth);
  }

 private:
  // Follows "#/..." references; null when there is no object to be found.
  const Json* resolve(const Json& schema) const {
    const Json* s = &schema;
    for (int i = 0; i < kMaxSchemaDepth && s->is_object(); ++i) {
      auto ref = s->find("$ref");
      if (ref == s->end() || !ref->is_string()) return s;
      const auto& target = ref->get_ref<const std::string&>();
      if (!target.starts_with('#')) return nullptr;
      s = pointer(target.substr(1));
      if (s == nullptr) return nullptr;
    }
    return nullptr;
  }

  const Json* pointer(std::string_view path) const {
    const Json* at = &root_;
    while (!path.empty()) {
      if (path[0] != '/') return nullptr;
      size_t end = std::min(path.find('/', 1), path.size());
      std::string key;
      for (size_t i = 1; i < end; ++i) {
        bool escaped = path[i] == '~' && i + 1 < end;
        key += escaped ? (path[++i] == '1' ? '/' : '~') : path[i];
      }
      path.remove_prefix(end);
      size_t index = 0;
      if (at->is_object() && at->contains(key)) {
        at = &at->at(key);
      } else if (at->is_array() &&
                 std::from_chars(key.data(), key.data() + key.size(), index).ec == std::errc() &&
                 index < at->size()) {
        at = &at->at(index);
      } else {
        return nullptr;
      }
    }
    return at;
  }

  static std::vector<std::string> types_of(const Json& schema) {
    std::vector<std::string> types;
    auto type = schema.find("type");
    if (type == schema.end()) return types;
    if (type->is_string()) types.push_back(type->get<std::string>());
    if (type->is_array()) {
      for (const Json& t : *type) {
        if (t.is_string()) types.push_back(t.get<std::string>());
      }
    }
    return types;
  }

  static Json first_fit(const Json& value, const std::vector<std::string>& types) {
    // Text fits everything, so it comes last.
    for (bool text : {false, true}) {
      for (const std::string& type : types) {
        if ((type == "string") != text) continue;
        if (type == "integer" && !value.is_string() && !has_type(value, type)) continue;
        if (std::optional<Json> fitted = to_type(value, type)) return *fitted;
      }
    }
    return value;
  }

  // A branch whose type the value has already; else the first that it can be turned into.
  Json choose(const Json& value, const Json& branches, int depth) {
    for (const Json& branch : branches) {
      const Json* s = resolve(branch);
      if (s == nullptr) continue;
      std::vector<std::string> types = types_of(*s);
      if (std::any_of(types.begin(), types.end(),
                      [&](const auto& t) { return has_type(value, t); }))
        return run(value, branch, depth + 1);
    }
    for (const Json& branch : branches) {
      Json out = run(value, branch, depth + 1);
      if (out != value || out.type() != value.type()) return out;
    }
    return value;
  }

  Json inside(Json value, const Json& schema, int depth) {
    if (value.is_array()) {
      auto items = schema.find("items");
      if (items != schema.end() && items->is_object()) {
        for (Json& item : value) item = run(item, *items, depth + 1);
      }
      return value;
    }
    if (!value.is_object()) return value;
    auto properties = schema.find("properties");
    auto others = schema.find("additionalProperties");
    for (auto it = value.begin(); it != value.end(); ++it) {
      const Json* property = nullptr;
      if (properties != schema.end() && properties->is_object() && properties->contains(it.key())) {
        property = &properties->at(it.key());
      } else if (others != schema.end() && others->is_object()) {
        property = &*others;
      }
      if (property != nullptr && property->is_object())
        it.value() = run(it.value(), *property, depth + 1);
    }
    return value;
  }

  const Json& root_;
  int steps_ = 100'000;  // a schema that refers to itself in several branches never ends otherwise
};

}  // namespace

Json coerce(const Json& value, const Json& schema) {
  if (!schema.is_object()) return value;
  return Coercer(schema).run(value, schema, 0);
}

}  // namespace tempo9::chat
