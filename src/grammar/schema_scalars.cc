#include "grammar/schema_scalars.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "grammar/digits.h"
#include "grammar/regex.h"

namespace tempo9::grammar {
namespace {

struct Bounds {
  long double low = -INFINITY, high = INFINITY;
  bool above = false, below = false;  // the bound itself is out
};
void raise_low(Bounds& b, long double low, bool above) {
  if (low > b.low || (low == b.low && above)) b.above = above, b.low = low;
}
void lower_high(Bounds& b, long double high, bool below) {
  if (high < b.high || (high == b.high && below)) b.below = below, b.high = high;
}
Bounds bounds_of(const Conjunction& terms) {
  Bounds b;
  for (const Term& term : terms) {
    const Json& s = *term.schema;
    const Json *above = keyword(s, "exclusiveMinimum"), *below = keyword(s, "exclusiveMaximum");
    const auto is_true = [](const Json* v) { return v != nullptr && *v == true; };
    if (const Json* v = keyword(s, "minimum")) raise_low(b, v->get<long double>(), is_true(above));
    if (const Json* v = keyword(s, "maximum")) lower_high(b, v->get<long double>(), is_true(below));
    if (above != nullptr && above->is_number()) raise_low(b, above->get<long double>(), true);
    if (below != nullptr && below->is_number()) lower_high(b, below->get<long double>(), true);
  }
  return b;
}

// A bound that is too far out for exact integers is none here; validate() holds it.
std::optional<long double> as_bound(long double value) {
  return std::abs(value) < 0x1p64L ? std::optional(value) : std::nullopt;
}

}  // namespace

const Json* keyword(const Json& schema, const char* key) {
  const auto it = schema.find(key);
  return it == schema.end() ? nullptr : &*it;
}

std::string joined(const std::vector<std::string>& branches) {
  if (branches.size() == 1) return branches[0];
  return fmt::format("({})", fmt::join(branches, " | "));
}

std::string counted(std::string_view item, int64_t min, std::optional<int64_t> max) {
  if (!max && min == 0) return fmt::format("({})*", item);
  if (!max) return fmt::format("({}){{{},}}", item, min);
  if (*max == 0) return "\"\"";
  return fmt::format("({}){{{},{}}}", item, min, *max);
}

int64_t as_count(const Json& value) {
  return static_cast<int64_t>(std::min(value.get<double>(), 1e15));
}
std::optional<Count> count_of(const Conjunction& terms, const char* min_key, const char* max_key) {
  Count count;
  for (const Term& term : terms) {
    if (const Json* min = keyword(*term.schema, min_key))
      count.min = std::max(count.min, as_count(*min));
    if (const Json* max = keyword(*term.schema, max_key))
      count.max = std::min(count.max.value_or(as_count(*max)), as_count(*max));
  }
  if (count.max && *count.max < count.min) return std::nullopt;
  if (count.max && *count.max > kManyItems) count.max.reset();
  count.min = std::min(count.min, kManyItems);
  return count;
}

std::optional<std::string> string_body(const Schema& schema, const Conjunction& terms,
                                       const Notation& notation, Place place) {
  const std::optional<Count> length = count_of(terms, "minLength", "maxLength");
  if (!length) return std::nullopt;
  std::string_view format;
  for (const Term& term : terms) {
    if (const Json* pattern = keyword(*term.schema, "pattern")) {
      const auto node = of_length(schema.pattern_node(pattern->get<std::string>()),
                                  static_cast<uint64_t>(length->min), length->max);
      if (!node) return std::nullopt;
      return text_of_pattern(*node, notation, place);
    }
    // "format" is a note by itself; beside a declared string it is meant.
    const Json *type = keyword(*term.schema, "type"), *name = keyword(*term.schema, "format");
    if (type != nullptr && *type == "string" && name != nullptr && name->is_string()) {
      for (const std::string_view known : {"date", "time", "date-time", "uuid"}) {
        if (*name == known) format = known;
      }
    }
  }
  if (length->min == 0 && !length->max) {
    if (format.empty()) return any_text(notation, place);
    return text_of(fmt::format("json-{}-text", format), notation, place);
  }
  return counted_text(length->min, length->max, notation, place);
}

std::optional<std::string> number_body(const Conjunction& terms, bool is_integer) {
  const Bounds b = bounds_of(terms);
  if (b.low > b.high || (b.low == b.high && (b.above || b.below))) return std::nullopt;
  if (!std::isfinite(b.low) && !std::isfinite(b.high))
    return is_integer ? "json-integer" : "json-number";
  if (is_integer) {
    long double low = std::ceil(b.low), high = std::floor(b.high);
    if (b.above && low == b.low) low += 1;
    if (b.below && high == b.high) high -= 1;
    if (low > high) return std::nullopt;
    return integers_ebnf(as_bound(low), as_bound(high));
  }
  // The whole part within the bounds; what stands behind the point is held by validate().
  std::vector<std::string> branches;
  constexpr std::string_view kFraction = " (\".\" [0-9]{1,24})?";
  if (b.high >= 0) {
    branches.push_back(
        integers_ebnf(as_bound(std::floor(std::max(b.low, 0.0L))), as_bound(std::floor(b.high))) +
        std::string(kFraction));
  }
  if (b.low < 0) {
    branches.push_back(fmt::format(
        "\"-\" {}{}",
        integers_ebnf(as_bound(std::floor(std::max(-b.high, 0.0L))), as_bound(std::floor(-b.low))),
        kFraction));
  }
  return joined(branches);
}

}  // namespace tempo9::grammar
