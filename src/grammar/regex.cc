// Syntax tree to grammar text, and to an automaton.
#include "grammar/regex.h"

#include <algorithm>
#include <numeric>

namespace tempo9::grammar {
namespace {

constexpr size_t kMaxStates = 60'000;
constexpr size_t kMaxAdds = 10 * kMaxStates;
constexpr int64_t kStepsPerState = 4;  // and character

void append_class_character(uint32_t c, std::string* out) {
  const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  if (plain) {
    *out += static_cast<char>(c);
  } else {
    *out += fmt::format("\\U{:08x}", c);
  }
}

std::string character_class(const Ranges& set) {
  std::string out = "[";
  for (const auto& [first, last] : set) {
    append_class_character(first, &out);
    if (last == first) continue;
    out += '-';
    append_class_character(last, &out);
  }
  out += ']';
  return out;
}

// Characters of a JSON string: most as they are, the others as escapes.
std::string json_class(const Ranges& set) {
  Ranges direct;
  std::vector<std::string> branches;
  const auto direct_part = [&direct](uint32_t first, uint32_t last) {
    if (first <= last) direct.emplace_back(first, last);
  };
  for (const auto& [first, last] : set) {
    uint32_t next = std::max<uint32_t>(first, 0x20);
    for (const uint32_t special : {uint32_t{'"'}, uint32_t{'\\'}}) {
      if (special < next || special > last) continue;
      if (special > next) direct_part(next, special - 1);
      next = special + 1;
      branches.push_back(special == '"' ? R"("\\\"")" : R"("\\\\")");
    }
    direct_part(next, last);
    for (uint32_t c = first; c <= std::min<uint32_t>(last, 0x1F); ++c) {
      constexpr std::string_view kShort = "\b\t\n\f\r";
      constexpr std::string_view kLetters = "btnfr";
      const size_t at = kShort.find(static_cast<char>(c));
      branches.push_back(at != std::string_view::npos ? fmt::format("\"\\\\{}\"", kLetters[at])
                                                      : fmt::format("\"\\\\u{:04x}\"", c));
    }
  }
  if (!direct.empty()) branches.insert(branches.begin(), character_class(direct));
  if (branches.size() == 1) return branches[0];
  return fmt::format("({})", fmt::join(branches, " | "));
}

bool in_set(const Ranges& set, uint32_t c) {
  const auto it = std::upper_bound(set.begin(), set.end(), c,
                                   [](uint32_t value, const auto& r) { return value < r.first; });
  return it != set.begin() && c <= std::prev(it)->second;
}

}  // namespace

std::string to_ebnf(const RegexNode& node, Spelling spelling) {
  switch (node.kind) {
    case RegexKind::kBegin:
    case RegexKind::kEnd:
      return "\"\"";
    case RegexKind::kSet:
      return spelling == Spelling::kPlain ? character_class(node.set) : json_class(node.set);
    case RegexKind::kRepeat: {
      const std::string inner = to_ebnf(node.children[0], spelling);
      if (node.max == 0) return "\"\"";
      if (node.min == 0 && node.max == RegexNode::kNoLimit) return fmt::format("({})*", inner);
      if (node.max == RegexNode::kNoLimit) return fmt::format("({}){{{},}}", inner, node.min);
      return fmt::format("({}){{{},{}}}", inner, node.min, node.max);
    }
    case RegexKind::kSequence:
    case RegexKind::kChoice: {
      std::vector<std::string> parts;
      for (const RegexNode& child : node.children) parts.push_back(to_ebnf(child, spelling));
      if (parts.empty()) return "\"\"";
      if (parts.size() == 1) return parts[0];
      return fmt::format("({})", fmt::join(parts, node.kind == RegexKind::kChoice ? " | " : " "));
    }
  }
  return "\"\"";
}

Status RegexMatcher::add(const RegexNode& node, uint32_t* end, Making* making) {
  const auto new_state = [this] {
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  };
  // What matches only the empty text adds no states, however often.
  if (states_.size() > kMaxStates || ++making->n_adds > kMaxAdds) {
    return make_error(ErrorCode::kUnsupported, "a pattern of more than {} states", kMaxStates);
  }
  switch (node.kind) {
    case RegexKind::kBegin:
    case RegexKind::kEnd:
      return {};
    case RegexKind::kSet: {
      // Characters are read by states that have a set; *end has none yet.
      const uint32_t read = new_state();
      const uint32_t after = new_state();
      states_[*end].next.push_back(read);
      const auto [set, is_new] = making->sets.emplace(&node, static_cast<uint32_t>(sets_.size()));
      if (is_new) sets_.push_back(node.set);
      states_[read].set = set->second;
      states_[read].next.push_back(after);
      *end = after;
      return {};
    }
    case RegexKind::kSequence:
      for (const RegexNode& child : node.children) T9_TRY(add(child, end, making));
      return {};
    case RegexKind::kChoice: {
      const uint32_t begin = *end;
      const uint32_t after = new_state();
      for (const RegexNode& child : node.children) {
        uint32_t branch = new_state();
        states_[begin].next.push_back(branch);
        T9_TRY(add(child, &branch, making));
        states_[branch].next.push_back(after);
      }
      *end = after;
      return {};
    }
    case RegexKind::kRepeat: {
      const RegexNode& child = node.children[0];
      for (uint32_t i = 0; i < node.min; ++i) T9_TRY(add(child, end, making));
      const uint32_t after = new_state();
      if (node.max == RegexNode::kNoLimit) {
        const uint32_t loop = new_state();
        states_[*end].next.push_back(loop);
        states_[loop].next.push_back(after);
        uint32_t last = loop;
        T9_TRY(add(child, &last, making));
        states_[last].next.push_back(loop);
      } else {
        for (uint32_t i = node.min; i < node.max; ++i) {
          states_[*end].next.push_back(after);
          const uint32_t once = new_state();
          states_[*end].next.push_back(once);
          uint32_t last = once;
          T9_TRY(add(child, &last, making));
          *end = last;
        }
        states_[*end].next.push_back(after);
      }
      *end = after;
      return {};
    }
  }
  return {};
}

Result<RegexMatcher> RegexMatcher::make(const RegexNode& node) {
  RegexMatcher matcher;
  uint32_t end = 0;
  Making making;
  T9_TRY(matcher.add(node, &end, &making));
  matcher.end_ = end;
  return matcher;
}

// Adds what is reached without a character.
void RegexMatcher::close(Position* position) const {
  std::vector<uint32_t>& states = position->states;
  for (size_t i = 0; i < states.size(); ++i) {
    const State& state = states_[states[i]];
    if (state.set != kNoSet) continue;
    for (const uint32_t next : state.next) {
      if (position->seen[next] == position->round) continue;
      position->seen[next] = position->round;
      states.push_back(next);
    }
  }
}

void RegexMatcher::advance(Position* position, uint32_t character) const {
  position->before.swap(position->states);
  position->states.clear();
  ++position->round;
  for (const uint32_t id : position->before) {
    const State& state = states_[id];
    if (state.set == kNoSet || !in_set(sets_[state.set], character)) continue;
    const uint32_t to = state.next[0];
    if (position->seen[to] == position->round) continue;
    position->seen[to] = position->round;
    position->states.push_back(to);
  }
  close(position);
}

bool RegexMatcher::matches(std::string_view text, int64_t* steps) const {
  Position now{.states = {0}, .seen = std::vector<uint32_t>(states_.size(), 0), .round = 1};
  close(&now);
  int64_t unlimited = INT64_MAX;
  if (steps == nullptr) steps = &unlimited;
  *steps -= static_cast<int64_t>(states_.size() / 8);
  for (size_t at = 0; at < text.size() && !now.states.empty();) {
    advance(&now, next_character(text, &at));
    *steps -= kStepsPerState * static_cast<int64_t>(1 + now.states.size());
    if (*steps < 0) return false;
  }
  return std::ranges::find(now.states, end_) != now.states.end();
}

bool RegexMatcher::may_contain(std::string_view text) const {
  Position now{.states = std::vector<uint32_t>(states_.size()),
               .seen = std::vector<uint32_t>(states_.size(), 0)};
  std::iota(now.states.begin(), now.states.end(), 0u);
  for (size_t at = 0; at < text.size() && !now.states.empty();)
    advance(&now, next_character(text, &at));
  return !now.states.empty();
}

uint32_t next_character(std::string_view text, size_t* at) {
  const auto lead = static_cast<uint8_t>(text[*at]);
  const size_t n = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (n == 0 || *at + n > text.size()) {
    ++*at;
    return 0x110000u + lead;
  }
  uint32_t c = n == 1 ? lead : lead & (0xFFu >> (n + 1));
  for (size_t i = 1; i < n; ++i) c = (c << 6) | (static_cast<uint8_t>(text[*at + i]) & 0x3Fu);
  *at += n;
  return c;
}

size_t count_characters(std::string_view text) {
  size_t n = 0;
  for (size_t at = 0; at < text.size(); ++n) next_character(text, &at);
  return n;
}

}  // namespace tempo9::grammar
