// A pattern's texts, fewer of them: within lengths, or of certain characters.
#include <algorithm>
#include <limits>

#include "grammar/regex.h"

namespace tempo9::grammar {
namespace {

constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

struct Lengths {
  uint64_t min = 0, max = 0;
  bool fixed() const { return min == max; }
};

uint64_t times(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kEndless / b ? kEndless : a * b;
}
uint64_t plus(uint64_t a, uint64_t b) { return a > kEndless - b ? kEndless : a + b; }
uint64_t minus(uint64_t a, uint64_t b) { return a == kEndless ? a : a - std::min(a, b); }

Lengths lengths_of(const RegexNode& node) {
  switch (node.kind) {
    case RegexKind::kBegin:
    case RegexKind::kEnd:
      return {};
    case RegexKind::kSet:
      return {1, 1};
    case RegexKind::kRepeat: {
      const Lengths child = lengths_of(node.children[0]);
      return {times(child.min, node.min),
              times(child.max, node.max == RegexNode::kNoLimit ? kEndless : node.max)};
    }
    case RegexKind::kSequence: {
      Lengths out;
      for (const RegexNode& child : node.children) {
        const Lengths part = lengths_of(child);
        out = {plus(out.min, part.min), plus(out.max, part.max)};
      }
      return out;
    }
    case RegexKind::kChoice: {
      Lengths out{node.children.empty() ? 0 : kEndless, 0};
      for (const RegexNode& child : node.children) {
        const Lengths part = lengths_of(child);
        out = {std::min(out.min, part.min), std::max(out.max, part.max)};
      }
      return out;
    }
  }
  return {};
}

std::optional<RegexNode> limited(const RegexNode& node, Lengths wanted);

std::optional<RegexNode> limited_repeat(const RegexNode& node, Lengths wanted) {
  const Lengths child = lengths_of(node.children[0]);
  if (child.max == 0) return node;
  RegexNode out = node;
  // How often: at least so often that the longest reach min, at most so often that the shortest
  // stay within max.
  const uint64_t least = child.max == kEndless ? 0 : (wanted.min + child.max - 1) / child.max;
  const uint64_t most =
      child.min == 0 || wanted.max == kEndless ? kEndless : wanted.max / child.min;
  const uint64_t max = std::min<uint64_t>(node.max, most);
  const uint64_t min = std::max<uint64_t>(node.min, least);
  if (min > max || min >= RegexNode::kNoLimit) return std::nullopt;
  out.min = static_cast<uint32_t>(min);
  out.max = static_cast<uint32_t>(max);
  return out;
}

std::optional<RegexNode> limited_sequence(const RegexNode& node, Lengths wanted) {
  const Lengths all = lengths_of(node);
  RegexNode out = node;
  for (RegexNode& child : out.children) {
    const Lengths part = lengths_of(child);
    if (part.fixed()) continue;
    Lengths others;
    for (const RegexNode& other : node.children) {
      if (&other - node.children.data() == &child - out.children.data()) continue;
      const Lengths length = lengths_of(other);
      others = {plus(others.min, length.min), plus(others.max, length.max)};
    }
    auto less = limited(child, {minus(wanted.min, others.max), minus(wanted.max, others.min)});
    if (others.max == kEndless) less = limited(child, {0, minus(wanted.max, others.min)});
    if (!less) return std::nullopt;
    child = std::move(*less);
  }
  return all.max < wanted.min ? std::nullopt : std::optional(std::move(out));
}

std::optional<RegexNode> limited(const RegexNode& node, Lengths wanted) {
  const Lengths have = lengths_of(node);
  if (have.min >= wanted.min && have.max <= wanted.max) return node;
  if (have.max < wanted.min || have.min > wanted.max) return std::nullopt;
  if (node.kind == RegexKind::kRepeat) return limited_repeat(node, wanted);
  if (node.kind == RegexKind::kSequence) return limited_sequence(node, wanted);
  if (node.kind != RegexKind::kChoice) return node;
  RegexNode out{.kind = RegexKind::kChoice};
  for (const RegexNode& child : node.children) {
    if (auto branch = limited(child, wanted)) out.children.push_back(std::move(*branch));
  }
  return out.children.empty() ? std::nullopt : std::optional(std::move(out));
}

Ranges common(const Ranges& a, const Ranges& b) {
  Ranges out;
  for (const auto& [first, last] : a) {
    for (const auto& [from, to] : b) {
      if (std::max(first, from) <= std::min(last, to))
        out.emplace_back(std::max(first, from), std::min(last, to));
    }
  }
  return out;
}

}  // namespace

std::optional<RegexNode> of_length(const RegexNode& node, uint64_t min,
                                   std::optional<uint64_t> max) {
  return limited(node, {min, max.value_or(kEndless)});
}

std::optional<RegexNode> within(const RegexNode& node, const Ranges& characters,
                                bool spare_single) {
  const bool is_single = node.kind == RegexKind::kSet && node.set.size() == 1 &&
                         node.set[0].first == node.set[0].second;
  if (is_single && spare_single) return node;
  RegexNode out{.kind = node.kind, .set = {}, .children = {}, .min = node.min, .max = node.max};
  if (node.kind == RegexKind::kSet) {
    out.set = common(node.set, characters);
    if (out.set.empty()) return std::nullopt;
    return out;
  }
  for (const RegexNode& child : node.children) {
    auto part = within(child, characters, spare_single);
    if (part) {
      out.children.push_back(std::move(*part));
    } else if (node.kind == RegexKind::kRepeat && node.min == 0) {
      return RegexNode{.kind = RegexKind::kSequence};
    } else if (node.kind != RegexKind::kChoice) {
      return std::nullopt;
    }
  }
  if (node.kind == RegexKind::kChoice && out.children.empty()) return std::nullopt;
  return out;
}

}  // namespace tempo9::grammar
