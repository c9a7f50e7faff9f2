#include "grammar/raw_text.h"

#include <algorithm>
#include <vector>

namespace tempo9::grammar {
namespace {

std::string characters(const Ranges& set) {
  return to_ebnf({.kind = RegexKind::kSet, .set = set}, Spelling::kPlain);
}

// All but these.
Ranges without(std::vector<uint32_t> some) {
  std::ranges::sort(some);
  Ranges out;
  for (const auto& [first, last] : any_character().set) {
    uint32_t next = first;
    for (const uint32_t c : some) {
      if (c < next || c > last) continue;
      if (c > next) out.emplace_back(next, c - 1);
      next = c + 1;
    }
    if (next <= last) out.emplace_back(next, last);
  }
  return out;
}

std::vector<uint32_t> code_points(const std::string& text) {
  std::vector<uint32_t> out;
  for (size_t at = 0; at < text.size();) out.push_back(next_character(text, &at));
  return out;
}

std::string repeated(const std::string& item, int64_t min, std::optional<int64_t> max) {
  if (max == 0) return "\"\"";
  if (max) return fmt::format("{}{{{},{}}}", item, min, *max);
  return min == 0 ? fmt::format("{}*", item) : fmt::format("{}{{{},}}", item, min);
}

// What stands at the ends of a text that may not be too short is no line break: readers take those
// for the format's own.
std::string framed(const std::string& unit, const std::string& edge, int64_t min,
                   std::optional<int64_t> max) {
  if (min == 0) return repeated(unit, 0, max);
  const auto less = [&](int64_t n) {
    return max ? std::optional(std::max<int64_t>(0, *max - n)) : std::nullopt;
  };
  if (min == 1) return fmt::format("{} {}", edge, repeated(unit, 0, less(1)));
  return fmt::format("{0} {1} {0}", edge, repeated(unit, min - 2, less(2)));
}

}  // namespace

std::string counted_raw_text(const Notation& notation, int64_t min, std::optional<int64_t> max) {
  if (max == 0) return "\"\"";
  if (min == 0 && !max) return "raw-text";
  const std::vector<uint32_t> mark = code_points(notation.mark);
  if (mark.size() < 3) return framed("[^]", characters(without({'\n'})), min, max);
  const std::string plain = characters(without({mark[0]}));
  const std::string edge = characters(without({mark[0], '\n'}));
  // The mark's first letters, if it goes on in another way.
  const std::string unit =
      fmt::format("({0} | {1} {2} | {1} {3} {4})", plain, characters({{mark[0], mark[0]}}),
                  characters(without({mark[0], mark[1]})), characters({{mark[1], mark[1]}}),
                  characters(without({mark[0], mark[2]})));
  if (!max) return framed(unit, edge, min, max);
  std::string out = framed(plain, edge, min, max);
  const int64_t third = (*max - std::min<int64_t>(min, 2)) / 3 + std::min<int64_t>(min, 2);
  if (third >= std::max<int64_t>(min, 1) && *max >= 3)
    out = fmt::format("({} | {})", out, framed(unit, edge, min, third));
  return out;
}

std::optional<std::string> raw_text_of_pattern(const RegexNode& pattern, const Notation& notation) {
  if (notation.mark.empty()) return to_ebnf(pattern, Spelling::kPlain);
  const auto can_hold_mark = [&](const RegexNode& node) {
    const auto matcher = RegexMatcher::make(node);
    return !matcher || matcher->may_contain(notation.mark);
  };
  if (!can_hold_mark(pattern)) return to_ebnf(pattern, Spelling::kPlain);
  size_t at = 0;
  const uint32_t first = next_character(notation.mark, &at);
  const auto less = within(pattern, without({first}), /*spare_single=*/true);
  if (!less || can_hold_mark(*less)) return std::nullopt;
  return to_ebnf(*less, Spelling::kPlain);
}

std::optional<std::string> raw_key_of_pattern(const RegexNode& pattern, const Notation& notation) {
  const Ranges word = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  const Ranges bare = {{'$', '$'}, {'-', '.'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  Ranges allowed = without({'<', '>', '"', '=', ' ', '\t', '\r', '\n'});  // json-name
  if (notation.style == Notation::Style::kPython) allowed = word;
  if (notation.style == Notation::Style::kQuoted) allowed = bare;
  const auto key = within(pattern, allowed, /*spare_single=*/false);
  if (!key) return std::nullopt;
  return to_ebnf(*key, Spelling::kPlain);
}

}  // namespace tempo9::grammar
