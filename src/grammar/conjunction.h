// Several schemas that hold of one value at the same time, seen as one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/schema.h"

namespace tempo9::grammar {

// A schema, without those of its alternatives that have been chosen from already.
struct Term {
  const Json* schema = nullptr;
  uint8_t chosen = 0;  // bits of kAny, kOne, kIf
  static constexpr uint8_t kAny = 1, kOne = 2, kIf = 4;
  auto operator<=>(const Term&) const = default;
};

// No schema twice; empty: anything. The order is that of the document, so that what is made of it
// does not depend on addresses.
using Conjunction = std::vector<Term>;

// Follows $ref and allOf, drops what says nothing. No value: nothing keeps it ("false" is in it).
// n_terms: grows by the number of terms that were looked at.
std::optional<Conjunction> flattened(const Schema& schema, Conjunction terms,
                                     int64_t* n_terms = nullptr);

// Conjunctions that differ in their last terms; written out they take terms x branches.
class Alternatives {
 public:
  size_t size() const { return branches_.size(); }
  Conjunction branch(size_t i) const;  // not flattened

 private:
  friend std::optional<Alternatives> alternatives(const Conjunction& terms);
  Conjunction common_;
  std::vector<std::vector<const Json*>> branches_;
};

// The first alternatives (anyOf, oneOf, if) that are still open. No value: there are none.
std::optional<Alternatives> alternatives(const Conjunction& terms);

}  // namespace tempo9::grammar
