// A JSON Schema, read and checked: every keyword is one that the rest of this room holds, or the
// schema is refused with the keyword's name and path.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/regex.h"

namespace tempo9::grammar {

using Json = nlohmann::ordered_json;

struct SchemaOptions {
  // What cannot be held is taken out of the schema and named in warnings(), in place of an error.
  bool lenient = false;
  // Objects that declare properties and say nothing of others take no others (replies
  // and calls; small models make keys up until they are cut).
  bool closed_objects = false;
};

// Keywords of JSON Schema 2020-12, and the older spellings of theirs that schemas in use still have
// (definitions, dependencies, items as an array with additionalItems, exclusiveMinimum: true).
// Unknown keywords and annotations (title, default, format...) say nothing about an instance.
// Immutable; any thread.
class Schema {
 public:
  // Errors: kInvalidArgument, "PATH: KEYWORD: found ..., expected ...", PATH a JSON pointer from
  // "#"; kResourceExhausted for too many parts.
  static Result<Schema> parse(std::string_view text, const SchemaOptions& options = {});
  static Result<Schema> read(Json schema, const SchemaOptions& options = {});

  const Json& root() const { return *root_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // What a "$ref" of this schema names; they are pointers from the root once it is read.
  const Json& target(const Json& ref) const;
  const RegexMatcher& pattern(const std::string& pattern) const;
  const RegexNode& pattern_node(const std::string& pattern) const;

 private:
  friend class SchemaReader;
  struct Pattern {
    RegexNode node;
    RegexMatcher matcher;
  };
  std::shared_ptr<Json> root_;
  std::map<std::string, const Json*, std::less<>> targets_;
  std::map<std::string, Pattern, std::less<>> patterns_;
  std::vector<std::string> warnings_;
};

// Equal as JSON Schema means it: 1 is 1.0, and the order of keys does not count. n_steps: grows by
// about the number of parts and keys that were compared.
bool same_value(const Json& a, const Json& b, int64_t* n_steps = nullptr);

inline constexpr int kMaxSchemaDepth = 128;

}  // namespace tempo9::grammar
