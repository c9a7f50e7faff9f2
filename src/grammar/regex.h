// The part of regular expressions that is regular: ECMA-262 patterns as JSON Schema uses them,
// without look-around, back-references and word borders. One syntax tree for two uses: a grammar
// that writes only matching text, and a matcher in linear time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tempo9::grammar {

// Code points [first, last], ascending.
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

enum class RegexKind { kSet, kSequence, kChoice, kRepeat, kBegin, kEnd };

struct RegexNode {
  RegexKind kind = RegexKind::kSequence;  // an empty sequence is the empty text
  Ranges set = {};
  std::vector<RegexNode> children = {};  // kRepeat: one
  uint32_t min = 0, max = 0;             // kRepeat; max kNoLimit: any number
  static constexpr uint32_t kNoLimit = ~0U;
};

// Errors: kInvalidArgument with place and reason for what is no pattern; kUnsupported, naming the
// construct, for what no automaton holds.
Result<RegexNode> parse_regex(std::string_view pattern);

// The pattern as a language of whole texts: "^" and "$" are resolved, and where they are missing
// any text may stand. Errors: kUnsupported for "^" and "$" in the middle.
Result<RegexNode> whole_text(const RegexNode& node);

// The same for a pattern that the whole text must match, with or without anchors.
Result<RegexNode> matching_text(const RegexNode& node);

// Those of its texts that have min to max characters; no max: any number. Where several parts of a
// pattern have lengths of their own, each by itself is held to what the others leave. No value:
// there are none.
std::optional<RegexNode> of_length(const RegexNode& node, uint64_t min,
                                   std::optional<uint64_t> max);

// Those of its texts that have these characters only. spare_single: what the pattern spells out may
// be any. No value: there are none.
std::optional<RegexNode> within(const RegexNode& node, const Ranges& characters, bool spare_single);

// All code points but surrogates.
RegexNode any_character();
RegexNode repeat(RegexNode node, uint32_t min, uint32_t max);

// How a set or text is written in a grammar: as it is, or inside a JSON string.
enum class Spelling { kPlain, kJsonString };
std::string to_ebnf(const RegexNode& node, Spelling spelling);

// Does the whole text match? text is UTF-8.
class RegexMatcher {
 public:
  // node: of whole_text(). Errors: kUnsupported for a pattern of too many states.
  static Result<RegexMatcher> make(const RegexNode& node);
  // steps: what may still be spent (validate.h); goes down, and below 0 the answer is no.
  bool matches(std::string_view text, int64_t* steps = nullptr) const;
  // Could text stand somewhere in what matches? "Yes" may be wrong, "no" is not.
  bool may_contain(std::string_view text) const;
  size_t n_states() const { return states_.size(); }

 private:
  static constexpr uint32_t kNoSet = ~0U;
  struct State {
    uint32_t set = kNoSet;  // of sets_; none: goes on without a character
    std::vector<uint32_t> next = {};
  };
  // What making a matcher keeps in mind: a node that is repeated is added many times.
  struct Making {
    std::map<const RegexNode*, uint32_t> sets = {};
    size_t n_adds = 0;
  };
  Status add(const RegexNode& node, uint32_t* end, Making* making);  // from *end on; moves it
  // The states where a text may be. In seen: those that were found in a round.
  struct Position {
    std::vector<uint32_t> states, seen, before = {};
    uint32_t round = 0;
  };
  void close(Position* position) const;
  void advance(Position* position, uint32_t character) const;

  std::vector<State> states_ = std::vector<State>(1);
  std::vector<Ranges> sets_;
  uint32_t end_ = 0;
};

// The code point at *at, which moves behind it. A byte that is no UTF-8 is one of its own, past
// all.
uint32_t next_character(std::string_view text, size_t* at);
// Code points of UTF-8; bytes that are none count as one each.
size_t count_characters(std::string_view text);

}  // namespace tempo9::grammar
