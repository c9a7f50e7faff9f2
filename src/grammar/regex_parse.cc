// Pattern to syntax tree.
#include <algorithm>
#include <optional>

#include "grammar/regex.h"

namespace tempo9::grammar {
namespace {

constexpr uint32_t kLast = 0x10FFFF;
constexpr int kMaxRegexDepth = 100;
constexpr uint32_t kMaxRegexCount = 100'000;

Ranges normalised(Ranges set) {
  std::sort(set.begin(), set.end());
  Ranges out;
  for (const auto& range : set) {
    if (!out.empty() && range.first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, range.second);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

Ranges without(const Ranges& from, const Ranges& removed) {
  Ranges out;
  for (auto [first, last] : from) {
    for (const auto& [a, b] : removed) {
      if (b < first || a > last) continue;
      if (a > first) out.emplace_back(first, a - 1);
      first = b + 1;
      if (first > last) break;
    }
    if (first <= last) out.emplace_back(first, last);
  }
  return out;
}

const Ranges kAll = {{0, 0xD7FF}, {0xE000, kLast}};
const Ranges kDigits = {{'0', '9'}};
const Ranges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpace = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                       {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                       {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds = {{0x0A, 0x0A}, {0x0D, 0x0D}, {0x2028, 0x2029}};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : text_(pattern) {}

  Result<RegexNode> parse() {
    T9_TRY(RegexNode node, choice(0));
    if (at_ < text_.size()) return bad("an unopened ')'");
    return node;
  }

 private:
  Error bad(std::string_view what) const {
    return make_error(ErrorCode::kInvalidArgument, "found {} at offset {}", what, at_);
  }
  Error unsupported(std::string_view what) const {
    return make_error(ErrorCode::kUnsupported, "{} (at offset {}) cannot be held by a grammar",
                      what, at_);
  }
  bool ended() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<RegexNode> choice(int depth) {
    if (depth > kMaxRegexDepth) return unsupported("so deep a nesting");
    RegexNode node{.kind = RegexKind::kChoice};
    do {
      T9_TRY(RegexNode branch, sequence(depth));
      node.children.push_back(std::move(branch));
    } while (take("|"));
    if (node.children.size() == 1) return std::move(node.children[0]);
    return node;
  }

  Result<RegexNode> sequence(int depth) {
    RegexNode node{.kind = RegexKind::kSequence};
    while (!ended() && peek() != '|' && peek() != ')') {
      T9_TRY(RegexNode item, atom(depth));
      T9_TRY(item, quantified(std::move(item)));
      node.children.push_back(std::move(item));
    }
    return node;
  }

  std::optional<uint32_t> number() {
    if (peek() < '0' || peek() > '9') return std::nullopt;
    uint32_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = std::min(kMaxRegexCount + 1, value * 10 + static_cast<uint32_t>(text_[at_++] - '0'));
    }
    return value;
  }

  struct Times {
    uint32_t min = 0, max = RegexNode::kNoLimit;
  };
  // No value: what stands here is no quantifier.
  Result<std::optional<Times>> quantifier() {
    Times times;
    const size_t begin = at_;
    if (take("*")) return times;
    if (take("+")) return Times{.min = 1};
    if (take("?")) return Times{.max = 1};
    if (!take("{")) return std::nullopt;
    const auto low = number();
    if (low) {
      times.min = times.max = *low;
      if (take(",")) times.max = number().value_or(RegexNode::kNoLimit);
    }
    if (!low || !take("}")) {  // a brace that counts nothing stands for itself
      at_ = begin;
      return std::nullopt;
    }
    if (times.max < times.min) return bad("a repetition whose end lies before its start");
    if (times.min > kMaxRegexCount ||
        (times.max != RegexNode::kNoLimit && times.max > kMaxRegexCount))
      return unsupported("so many repetitions");
    return times;
  }

  // One quantifier at most, so that only groups make the tree deep.
  Result<RegexNode> quantified(RegexNode item) {
    T9_TRY(const std::optional<Times> times, quantifier());
    if (!times) return item;
    if (item.kind == RegexKind::kBegin || item.kind == RegexKind::kEnd)
      return bad("a repeated anchor");
    take("?");  // greedy or not: the same texts
    const size_t end = at_;
    T9_TRY(const std::optional<Times> another, quantifier());
    if (another) {
      at_ = end;
      return bad("a repetition of nothing");
    }
    return repeat(std::move(item), times->min, times->max);
  }

  Result<RegexNode> atom(int depth) {
    if (take("^")) return RegexNode{.kind = RegexKind::kBegin};
    if (take("$")) return RegexNode{.kind = RegexKind::kEnd};
    if (take(".")) return RegexNode{.kind = RegexKind::kSet, .set = without(kAll, kLineEnds)};
    if (peek() == '[') return set();
    if (peek() == '(') return group(depth);
    if (peek() == '*' || peek() == '+' || peek() == '?') return bad("a repetition of nothing");
    if (peek() == '\\') {
      T9_TRY(Ranges ranges, escape(false));
      return RegexNode{.kind = RegexKind::kSet, .set = std::move(ranges)};
    }
    T9_TRY(const uint32_t c, character());
    return RegexNode{.kind = RegexKind::kSet, .set = {{c, c}}};
  }

  Result<RegexNode> group(int depth) {
    for (const char* look : {"(?=", "(?!", "(?<=", "(?<!"}) {
      if (text_.substr(at_).starts_with(look)) return unsupported("look-around");
    }
    if (text_.substr(at_).starts_with("(?<")) {
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) return bad("a group name without end");
      at_ = end + 1;
    } else if (!take("(?:")) {
      take("(");
      if (peek() == '?') return unsupported("a group with flags");
    }
    T9_TRY(RegexNode node, choice(depth + 1));
    if (!take(")")) return bad("a group without end");
    return node;
  }

  // One code point of UTF-8.
  Result<uint32_t> character() {
    const auto lead = static_cast<uint8_t>(peek());
    const size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (at_ + n > text_.size() || (lead >= 0x80 && lead < 0xC2)) return bad("broken UTF-8");
    uint32_t c = n == 1 ? lead : lead & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; ++i) {
      c = (c << 6) | (static_cast<uint8_t>(text_[at_ + i]) & 0x3Fu);
    }
    at_ += n;
    return c;
  }

  std::optional<uint32_t> hex(size_t n) {
    if (at_ + n > text_.size()) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < n; ++i) {
      const char c = text_[at_ + i];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    at_ += n;
    return value;
  }

  Result<Ranges> one(uint32_t c) const { return Ranges{{c, c}}; }

  Result<Ranges> escape(bool in_set) {
    ++at_;  // the backslash
    if (ended()) return bad("a backslash at the end");
    const char c = peek();
    if (c >= '1' && c <= '9') return unsupported("a back-reference");
    if (c == 'k' && peek(1) == '<') return unsupported("a back-reference");
    if (!in_set && (c == 'b' || c == 'B')) return unsupported("a word border");
    if (c == 'p' || c == 'P') return property();
    T9_TRY(const uint32_t plain, character());
    switch (plain) {
      case 'd':
        return kDigits;
      case 'D':
        return without(kAll, kDigits);
      case 'w':
        return kWord;
      case 'W':
        return without(kAll, kWord);
      case 's':
        return kSpace;
      case 'S':
        return without(kAll, kSpace);
      case 'n':
        return one('\n');
      case 't':
        return one('\t');
      case 'r':
        return one('\r');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case 'b':
        return one('\b');
      case '0':
        return one(0);
      case 'c': {
        const auto letter = static_cast<uint32_t>(peek());
        if ((letter | 0x20) < 'a' || (letter | 0x20) > 'z') return bad("\\c without a letter");
        ++at_;
        return one(letter & 0x1F);
      }
      case 'x': {
        const auto value = hex(2);
        return one(value.value_or('x'));
      }
      case 'u':
        return unicode_escape();
      default:
        return one(plain);
    }
  }

  Result<Ranges> unicode_escape() {
    if (take("{")) {
      uint32_t value = 0;
      size_t n = 0;
      while (const auto digit = hex(1)) {
        value = std::min<uint32_t>(kLast + 1, value * 16 + *digit);
        ++n;
      }
      if (n == 0 || value > kLast || !take("}")) return bad("a broken \\u{...}");
      return one(value);
    }
    const auto high = hex(4);
    if (!high) return one('u');
    if (*high >= 0xD800 && *high < 0xDC00 && take("\\u")) {
      const auto low = hex(4);
      if (low && *low >= 0xDC00 && *low < 0xE000)
        return one(0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
    }
    if (*high >= 0xD800 && *high < 0xE000) return unsupported("half a surrogate pair");
    return one(*high);
  }

  Result<Ranges> property() const { return unsupported("a Unicode property"); }

  Result<RegexNode> set() {
    take("[");
    const bool negated = take("^");
    Ranges ranges;
    while (true) {
      if (ended()) return bad("a '[' without end");
      if (take("]")) break;
      T9_TRY(Ranges low, set_item());
      const bool single = low.size() == 1 && low[0].first == low[0].second;
      if (single && peek() == '-' && peek(1) != ']' && peek(1) != '\0') {
        ++at_;
        T9_TRY(const Ranges high, set_item());
        if (high.size() == 1 && high[0].first == high[0].second) {
          if (high[0].first < low[0].first) return bad("a range whose end lies before its start");
          low[0].second = high[0].first;
        } else {  // "[a-\\d]": the dash stands for itself
          low.emplace_back('-', '-');
          low.insert(low.end(), high.begin(), high.end());
        }
      }
      ranges.insert(ranges.end(), low.begin(), low.end());
    }
    ranges = normalised(std::move(ranges));
    ranges = without(kAll, without(kAll, ranges));  // no surrogates
    if (negated) ranges = without(kAll, ranges);
    if (ranges.empty()) return unsupported("a set of no characters");
    return RegexNode{.kind = RegexKind::kSet, .set = std::move(ranges)};
  }

  Result<Ranges> set_item() {
    if (peek() == '\\') return escape(true);
    T9_TRY(const uint32_t c, character());
    return one(c);
  }

  std::string_view text_;
  size_t at_ = 0;
};

// ---- anchors

bool has_anchor(const RegexNode& node) {
  return node.kind == RegexKind::kBegin || node.kind == RegexKind::kEnd ||
         std::any_of(node.children.begin(), node.children.end(), has_anchor);
}

RegexNode any_text() { return repeat(any_character(), 0, RegexNode::kNoLimit); }

// What stands at a side of a node: any text, unless an anchor says otherwise; the text's end; or
// other parts of the pattern, where no anchor is understood.
enum class Side { kOpen, kEdge, kInside };

Error stray_anchor() {
  return make_error(ErrorCode::kUnsupported,
                    "an anchor inside the pattern cannot be held by a grammar");
}

Result<RegexNode> resolve(const RegexNode& node, Side left, Side right);

Result<RegexNode> resolve_sequence(const RegexNode& node, Side left, Side right) {
  size_t begin = 0, end = node.children.size();
  for (; begin < end && node.children[begin].kind == RegexKind::kBegin; ++begin) {
    if (left == Side::kInside) return stray_anchor();
    left = Side::kEdge;
  }
  for (; end > begin && node.children[end - 1].kind == RegexKind::kEnd; --end) {
    if (right == Side::kInside) return stray_anchor();
    right = Side::kEdge;
  }
  RegexNode out{.kind = RegexKind::kSequence};
  if (begin == end && (left == Side::kOpen || right == Side::kOpen)) {
    out.children.push_back(any_text());
  }
  for (size_t i = begin; i < end; ++i) {
    T9_TRY(RegexNode child, resolve(node.children[i], i == begin ? left : Side::kInside,
                                    i + 1 == end ? right : Side::kInside));
    out.children.push_back(std::move(child));
  }
  return out;
}

Result<RegexNode> resolve(const RegexNode& node, Side left, Side right) {
  if (!has_anchor(node) && left != Side::kOpen && right != Side::kOpen) return node;
  if (node.kind == RegexKind::kSequence) return resolve_sequence(node, left, right);
  if (node.kind == RegexKind::kChoice) {
    RegexNode out{.kind = RegexKind::kChoice};
    for (const RegexNode& child : node.children) {
      T9_TRY(RegexNode resolved, resolve(child, left, right));
      out.children.push_back(std::move(resolved));
    }
    return out;
  }
  if (node.kind == RegexKind::kBegin || node.kind == RegexKind::kEnd) {
    RegexNode alone{.kind = RegexKind::kSequence};
    alone.children.push_back(node);
    return resolve_sequence(alone, left, right);
  }
  if (has_anchor(node)) return stray_anchor();
  RegexNode out{.kind = RegexKind::kSequence};
  if (left == Side::kOpen) out.children.push_back(any_text());
  out.children.push_back(node);
  if (right == Side::kOpen) out.children.push_back(any_text());
  return out;
}

}  // namespace

RegexNode any_character() { return {.kind = RegexKind::kSet, .set = kAll}; }

RegexNode repeat(RegexNode node, uint32_t min, uint32_t max) {
  RegexNode out{.kind = RegexKind::kRepeat};
  out.children.push_back(std::move(node));
  out.min = min;
  out.max = max;
  return out;
}

Result<RegexNode> parse_regex(std::string_view pattern) { return Parser(pattern).parse(); }

Result<RegexNode> whole_text(const RegexNode& node) {
  return resolve(node, Side::kOpen, Side::kOpen);
}

Result<RegexNode> matching_text(const RegexNode& node) {
  return resolve(node, Side::kEdge, Side::kEdge);
}

}  // namespace tempo9::grammar
