#include "grammar/lark.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "grammar/lark_tokens.h"

namespace tempo9::grammar {
namespace {

constexpr int kMaxLarkDepth = 100;
constexpr int kMaxLarkCount = 5'000;

struct Common {
  std::string_view name, pattern;
};
constexpr Common kCommon[] = {
#define T9_LARK_TERMINAL(name, pattern) {name, pattern},
#include "grammar/lark_common.inc"
#undef T9_LARK_TERMINAL
};

bool is_terminal(std::string_view name) {
  const size_t at = name.find_first_not_of('_');
  return at != std::string_view::npos && name[at] >= 'A' && name[at] <= 'Z';
}

// Letters of ASCII in both cases.
void fold_case(RegexNode* node) {
  Ranges more = node->set;
  for (const auto& [first, last] : node->set) {
    for (const auto& [from, to] : {std::pair('a', 'A'), std::pair('A', 'a')}) {
      const auto low = static_cast<uint32_t>(from), other = static_cast<uint32_t>(to);
      const uint32_t a = std::max(first, low), b = std::min(last, low + 25);
      if (a <= b) more.emplace_back(a - low + other, b - low + other);
    }
  }
  std::sort(more.begin(), more.end());
  node->set.clear();
  for (const auto& range : more) {
    if (!node->set.empty() && range.first <= node->set.back().second + 1) {
      node->set.back().second = std::max(node->set.back().second, range.second);
    } else {
      node->set.push_back(range);
    }
  }
  for (RegexNode& child : node->children) fold_case(&child);
}

// Outside of classes, "." as every character: what the flag s asks for.
std::string with_dots_for_all(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '.' && !in_class) {
      out += "[\\s\\S]";
      continue;
    }
    out += c;
    if (c == '\\' && i + 1 < pattern.size()) {
      out += pattern[++i];
    } else if (c == '[') {
      in_class = true;
    } else if (c == ']') {
      in_class = false;
    }
  }
  return out;
}

class LarkTranslator {
 public:
  LarkTranslator(std::vector<LarkToken> tokens, Spelling spelling, std::string_view prefix)
      : tokens_(std::move(tokens)), spelling_(spelling), prefix_(prefix) {
    ignores_ = std::ranges::any_of(tokens_, [](const LarkToken& token) {
      return token.kind == LarkKind::kDirective && token.text == "ignore";
    });
  }

  Result<std::string> run() {
    while (now().kind != LarkKind::kEnd) {
      T9_TRY(now().kind == LarkKind::kDirective ? directive() : definition());
      if (now().kind == LarkKind::kLineEnd) {
        ++at_;
      } else if (now().kind != LarkKind::kEnd) {
        return unexpected("the end of the line");
      }
    }
    for (const auto& [name, line] : used_) {
      if (defined_.contains(name)) continue;
      return make_error(ErrorCode::kInvalidArgument, "line {}: {} is used, but nothing defines it",
                        line, name);
    }
    if (!defined_.contains("start")) {
      return make_error(ErrorCode::kInvalidArgument,
                        "found no rule named start, expected the one that a text begins with");
    }
    if (ignores_) {
      out_ += fmt::format("{} ::= ({})*\n", rule("ignored"), fmt::join(ignored_, " | "));
    }
    out_ += fmt::format("{}text ::= {}{}\n", prefix_,
                        ignores_ ? fmt::format("{} ", rule("ignored")) : "", rule_name("start"));
    return std::move(out_);
  }

 private:
  const LarkToken& now() const { return tokens_[at_]; }
  const LarkToken& ahead(size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  bool take(std::string_view mark) {
    if (!now().is(mark)) return false;
    ++at_;
    return true;
  }
  Error unexpected(std::string_view expected) const {
    const bool is_end = now().kind == LarkKind::kEnd || now().kind == LarkKind::kLineEnd;
    return make_error(ErrorCode::kInvalidArgument, "line {}: found {}, expected {}", now().line,
                      is_end ? "the line's end" : fmt::format("\"{}\"", now().text), expected);
  }
  Error unsupported(std::string_view what) const {
    return make_error(ErrorCode::kUnsupported, "line {}: {} cannot be held by a grammar here",
                      now().line, what);
  }

  std::string rule(std::string_view name) const { return fmt::format("{}lark-{}", prefix_, name); }
  // "-" stands in no Lark name: rules of our own never clash with the grammar's.
  std::string rule_name(std::string_view name) const { return rule(fmt::format("n-{}", name)); }

  // ---- statements

  Status directive() {
    const std::string name = now().text;
    if (name == "import") {
      ++at_;
      return import();
    }
    if (name == "ignore") {
      ++at_;
      T9_TRY(std::string terminal, choices(0, /*in_terminal=*/true));
      ignored_.push_back(std::move(terminal));
      return {};
    }
    return unsupported(fmt::format("%{}", name));
  }

  Status import() {
    const bool is_common = now().kind == LarkKind::kName && now().text == "common" &&
                           (ahead(1).is(".") || ahead(1).is("("));
    if (!is_common) return unsupported("an import from elsewhere than common");
    ++at_;
    if (take(".")) {
      const std::string name = now().text;
      if (now().kind != LarkKind::kName) return unexpected("the name of a terminal");
      ++at_;
      std::string known_as = name;
      if (take("->")) {
        known_as = now().text;
        if (now().kind != LarkKind::kName) return unexpected("a name");
        ++at_;
      }
      return define_common(name, known_as);
    }
    take("(");
    do {
      const std::string name = now().text;
      if (now().kind != LarkKind::kName) return unexpected("the name of a terminal");
      ++at_;
      T9_TRY(define_common(name, name));
    } while (take(","));
    if (!take(")")) return unexpected("\")\"");
    return {};
  }

  Status define_common(const std::string& name, const std::string& known_as) {
    const auto common = std::ranges::find(kCommon, name, &Common::name);
    if (common == std::end(kCommon)) return unsupported(fmt::format("common.{}", name));
    T9_TRY(const RegexNode node, parse_regex(common->pattern));
    define(known_as, to_ebnf(node, spelling_));
    return {};
  }

  void define(const std::string& name, std::string_view body) {
    defined_.insert(name);
    out_ += fmt::format("{} ::= {}\n", rule_name(name), body);
  }

  // [?!]NAME[.PRIORITY]: ...
  Status definition() {
    while (take("?") || take("!")) {
    }
    if (now().kind != LarkKind::kName) return unexpected("a rule or a terminal");
    const std::string name = now().text;
    ++at_;
    if (now().is("{")) return unsupported("a template");
    if (take(".")) {
      if (now().kind != LarkKind::kNumber) return unexpected("a priority");
      ++at_;
    }
    if (!take(":")) return unexpected("\":\"");
    if (defined_.contains(name)) {
      return make_error(ErrorCode::kInvalidArgument, "line {}: {} is defined twice", now().line,
                        name);
    }
    T9_TRY(const std::string body, choices(0, is_terminal(name)));
    define(name, body);
    return {};
  }

  // ---- expressions

  bool ends_sequence() const {
    return now().kind == LarkKind::kEnd || now().kind == LarkKind::kLineEnd || now().is("|") ||
           now().is(")") || now().is("]") || now().is("->");
  }

  Result<std::string> choices(int depth, bool in_terminal) {
    if (depth > kMaxLarkDepth) {
      return make_error(ErrorCode::kUnsupported, "line {}: more than {} brackets inside each other",
                        now().line, kMaxLarkDepth);
    }
    std::vector<std::string> branches;
    do {
      std::vector<std::string> parts;
      while (!ends_sequence()) {
        T9_TRY(std::string part, repeated(depth, in_terminal));
        parts.push_back(std::move(part));
      }
      if (take("->")) {
        if (now().kind != LarkKind::kName) return unexpected("an alias");
        ++at_;
      }
      branches.push_back(parts.empty() ? "\"\"" : fmt::format("{}", fmt::join(parts, " ")));
    } while (take("|"));
    if (branches.size() == 1) return std::move(branches[0]);
    return fmt::format("({})", fmt::join(branches, " | "));
  }

  Result<std::string> repeated(int depth, bool in_terminal) {
    T9_TRY(std::string part, atom(depth, in_terminal));
    for (const char* op : {"?", "*", "+"}) {
      if (take(op)) return fmt::format("({}){}", part, op);
    }
    if (!take("~")) return part;
    T9_TRY(const int min, count());
    int max = min;
    if (take("..")) {
      T9_TRY(max, count());
    }
    if (max < min) {
      return make_error(ErrorCode::kInvalidArgument,
                        "line {}: found ~{}..{}, expected the smaller "
                        "number first",
                        now().line, min, max);
    }
    if (max == 0) return std::string("\"\"");
    return fmt::format("({}){{{},{}}}", part, min, max);
  }

  Result<int> count() {
    int n = 0;
    const std::string& text = now().text;
    if (now().kind != LarkKind::kNumber || text[0] == '-') return unexpected("a number of times");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || n > kMaxLarkCount)
      return unsupported(fmt::format("a repetition of more than {} times", kMaxLarkCount));
    ++at_;
    return n;
  }

  Result<std::string> atom(int depth, bool in_terminal) {
    for (const auto& [open, close] : {std::pair("(", ")"), std::pair("[", "]")}) {
      if (!take(open)) continue;
      T9_TRY(const std::string inner, choices(depth + 1, in_terminal));
      if (!take(close)) return unexpected(fmt::format("\"{}\"", close));
      return fmt::format("({}){}", inner, *open == '[' ? "?" : "");
    }
    // What is ignored may stand behind each token of a rule; a terminal is one token.
    const std::string behind = ignores_ && !in_terminal ? fmt::format(" {}", rule("ignored")) : "";
    if (now().kind == LarkKind::kName) {
      const std::string name = now().text;
      if (ahead(1).is("{")) return unsupported("a template");
      if (in_terminal && !is_terminal(name)) return unexpected("a terminal, not a rule");
      used_.emplace(name, now().line);
      ++at_;
      return fmt::format("{}{}", rule_name(name), is_terminal(name) ? behind : "");
    }
    if (now().kind != LarkKind::kString && now().kind != LarkKind::kRegex)
      return unexpected("a string, a regular expression or a name");
    T9_TRY(const RegexNode node, now().kind == LarkKind::kString ? string() : regex());
    return fmt::format("({}{})", to_ebnf(node, spelling_), behind);
  }

  static RegexNode text_node(std::string_view text) {
    RegexNode out;
    // A set for each character: its spelling depends on where the text stands.
    for (size_t at = 0; at < text.size();) {
      const uint32_t c = next_character(text, &at);
      out.children.push_back({.kind = RegexKind::kSet, .set = {{c, c}}});
    }
    return out;
  }

  Result<RegexNode> string() {
    const LarkToken first = now();
    ++at_;
    RegexNode node = text_node(first.text);
    if (take("..")) {
      const RegexNode last = text_node(now().text);
      if (now().kind != LarkKind::kString || node.children.size() != 1 ||
          last.children.size() != 1 ||
          node.children[0].set[0].first > last.children[0].set[0].first) {
        return unexpected("a range from one character to a later one");
      }
      node.children[0].set[0].second = last.children[0].set[0].first;
      ++at_;
    }
    if (!first.flags.empty()) fold_case(&node);
    return node;
  }

  Result<RegexNode> regex() {
    const LarkToken token = now();
    const auto has = [&token](char flag) { return token.flags.find(flag) != std::string::npos; };
    if (has('x') || has('m'))
      return unsupported(fmt::format("the flag in /{}/{}", token.text, token.flags));
    auto node = parse_regex(has('s') ? with_dots_for_all(token.text) : token.text);
    if (node) node = matching_text(*node);
    if (!node) {
      return make_error(node.error().code, "line {}: /{}/: {}", token.line, token.text,
                        node.error().message);
    }
    if (has('i')) fold_case(&*node);
    ++at_;
    return node;
  }

  std::vector<LarkToken> tokens_;
  Spelling spelling_;
  std::string prefix_;
  size_t at_ = 0;
  bool ignores_ = false;
  std::vector<std::string> ignored_;
  std::set<std::string, std::less<>> defined_;
  std::map<std::string, uint32_t> used_;  // name, line
  std::string out_;
};

}  // namespace

Result<std::string> lark_to_ebnf(std::string_view source, Spelling spelling,
                                 std::string_view prefix) {
  T9_TRY(std::vector<LarkToken> tokens, lark_tokens(source));
  return LarkTranslator(std::move(tokens), spelling, prefix).run();
}

}  // namespace tempo9::grammar
