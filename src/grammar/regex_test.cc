#include "grammar/regex.h"

#include <gtest/gtest.h>

namespace tempo9::grammar {
namespace {

// ECMA-262 semantics, as Python's re.search and JavaScript's RegExp.test have them.
struct RegexCase {
  std::string_view pattern;
  std::vector<std::string_view> yes, no;
};
const RegexCase kRegexCases[] = {
    {"", {"", "x"}, {}},
    {"^a*$", {"", "aaa"}, {"b", "ab"}},
    {"a+", {"xaay", "a"}, {"", "b"}},
    {"^\\d{4}-\\w+$", {"2024-ab_1"}, {"2024-", "202-a", "2024-a b"}},
    {"^(a|bc)$", {"a", "bc"}, {"b", "abc", ""}},
    {"(^a|b$)", {"ax", "xb"}, {"xa", "bx"}},
    {"^[^abc]$", {"d", "\xC3\xA9"}, {"a", "", "de"}},
    {"^[a-c\\-x]{2,3}$", {"a-", "cxb"}, {"a", "a-xx", "d-"}},
    {"^\xF0\x9F\x90\xB2*$", {"", "\xF0\x9F\x90\xB2\xF0\x9F\x90\xB2"}, {"D"}},
    {"^\\S+@\\S+\\.com$", {"a@b.com"}, {"a@b.org", "a b@c.com"}},
    {"^.$", {"x", "\xE2\x82\xAC"}, {"\n", "", "xy"}},
    {"^a{0}b$", {"b"}, {"ab"}},
    {"^a{,2}$", {"a{,2}"}, {"aa"}},
    {"^(?:ab)+?$", {"ab", "abab"}, {"aba"}},
    {"^a*{$", {"{", "aa{"}, {"a"}},
    {"^(?:a?){2}?b$", {"b", "aab"}, {"aaab"}},
    {"^(?<year>\\d+)$", {"12"}, {"x"}},
    {"^\\x41\\u0042\\u{43}\\cA$", {"ABC\x01"}, {"ABC"}},
    {"^[\\d.]+$", {"1.2"}, {"1,2"}},
};

TEST(Regex, MatchesWhatEcmaScriptMatches) {
  for (const RegexCase& c : kRegexCases) {
    SCOPED_TRACE(c.pattern);
    const auto parsed = parse_regex(c.pattern);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto whole = whole_text(*parsed);
    ASSERT_TRUE(whole) << whole.error().message;
    const auto matcher = RegexMatcher::make(*whole);
    ASSERT_TRUE(matcher);
    for (const auto text : c.yes) EXPECT_TRUE(matcher->matches(text)) << text;
    for (const auto text : c.no) EXPECT_FALSE(matcher->matches(text)) << text;
  }
}

TEST(Regex, AnchorsAtTheEndsAddNothingToAWholeMatch) {
  for (const std::string_view pattern : {"ab", "^ab", "ab$", "^ab$"}) {
    const auto matcher = RegexMatcher::make(*matching_text(*parse_regex(pattern)));
    EXPECT_TRUE(matcher->matches("ab"));
    EXPECT_FALSE(matcher->matches("xab"));
    EXPECT_FALSE(matcher->matches("abx"));
  }
}

TEST(Regex, WhatIsNoPatternIsRefusedWithItsPlace) {
  for (const std::string_view pattern : {"(a", "a)", "[a", "*a", "a{3,2}", "[z-a]", "a\\", "(?<n",
                                         "a**", "a+?+", "a??*", "a*{2}", "a{2}{3}"}) {
    const auto parsed = parse_regex(pattern);
    ASSERT_FALSE(parsed) << pattern;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument) << pattern;
    EXPECT_NE(parsed.error().message.find("at offset"), std::string::npos) << pattern;
  }
}

TEST(Regex, WhatNoAutomatonHoldsIsRefusedByName) {
  for (const auto& [pattern, name] :
       std::vector<std::pair<std::string_view, std::string_view>>{{"(?=a)b", "look-around"},
                                                                  {"(?<!a)b", "look-around"},
                                                                  {"(a)\\1", "back-reference"},
                                                                  {"\\bword", "word border"},
                                                                  {"\\p{L}", "Unicode property"}}) {
    const auto parsed = parse_regex(pattern);
    ASSERT_FALSE(parsed) << pattern;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(parsed.error().message.find(name), std::string::npos) << parsed.error().message;
  }
  for (const std::string_view pattern : {"a^b", "(a|b$)c", "(a$)*", "x(^a)"})
    EXPECT_FALSE(whole_text(*parse_regex(pattern))) << pattern;
}

TEST(Regex, AJsonStringSpellsWhatItMust) {
  const auto ebnf = [](std::string_view pattern) {
    return to_ebnf(*matching_text(*parse_regex(pattern)), Spelling::kJsonString);
  };
  EXPECT_EQ(ebnf("\""), R"("\\\"")");
  EXPECT_EQ(ebnf("\\\\"), R"("\\\\")");
  EXPECT_EQ(ebnf("\\n"), R"("\\n")");
  EXPECT_EQ(ebnf("[a\\x01]"), R"(([a] | "\\u0001"))");
  EXPECT_EQ(ebnf("a{2,}"), "([a]){2,}");
}

TEST(Regex, HostileSizesEnd) {
  EXPECT_FALSE(RegexMatcher::make(*whole_text(*parse_regex("(a{1000}){1000}"))));
  EXPECT_FALSE(parse_regex(std::string(100'000, '(')));
  const auto stacked = parse_regex("a" + std::string(200'000, '*'));
  ASSERT_FALSE(stacked);
  EXPECT_EQ(stacked.error().message, "found a repetition of nothing at offset 2");
  EXPECT_FALSE(RegexMatcher::make(*whole_text(*parse_regex("(((){100000}){100000}){100000}"))));
  const auto slow = RegexMatcher::make(*whole_text(*parse_regex("^(a|a)*(a|a)*b$")));
  EXPECT_FALSE(slow->matches(std::string(20'000, 'a')));  // no backtracking
}

TEST(Regex, FewerOfItsTexts) {
  const auto matches = [](const std::optional<RegexNode>& node, std::string_view text) {
    return node && RegexMatcher::make(*node)->matches(text);
  };
  const RegexNode word = *whole_text(*parse_regex("^(x[a-z]*|[0-9]+:[0-9]+)$"));
  const auto few = of_length(word, 2, 4);
  for (const char* good : {"xa", "xabc", "1:2", "12:3"}) EXPECT_TRUE(matches(few, good)) << good;
  for (const char* bad : {"x", "xabcd", "1:2345", "123456789:1"})
    EXPECT_FALSE(matches(few, bad)) << bad;
  EXPECT_FALSE(of_length(*whole_text(*parse_regex("^ab$")), 3, 9));
  const Ranges letters = {{'a', 'z'}};
  EXPECT_TRUE(matches(within(*whole_text(*parse_regex("^[a-z<]+$")), letters, false), "ab"));
  EXPECT_FALSE(matches(within(*whole_text(*parse_regex("^[a-z<]+$")), letters, false), "a<"));
  EXPECT_TRUE(matches(within(*whole_text(*parse_regex("^<.+$")), letters, true), "<b"));
  EXPECT_FALSE(within(*whole_text(*parse_regex("^<.+$")), letters, false));
}

TEST(Regex, WhatMayStandInAText) {
  const auto may = [](const char* pattern, std::string_view text) {
    return RegexMatcher::make(*whole_text(*parse_regex(pattern)))->may_contain(text);
  };
  EXPECT_TRUE(may("a", "</b>"));
  EXPECT_TRUE(may("^<.*>$", "</b>"));
  EXPECT_FALSE(may("^[a-z]*$", "</b>"));
  EXPECT_FALSE(may("^<[a-z]+>$", "</b>"));
}

TEST(Regex, ARepeatedSetIsKeptOnce) {
  std::string pattern = "^[";  // 20,000 ranges: 5 GB in all if each state had its own
  for (uint32_t c = 0x3000; c < 0xCE40; c += 2) pattern += fmt::format("\\u{:04x}", c);
  const auto matcher = RegexMatcher::make(*whole_text(*parse_regex(pattern + "]{29000}$")));
  ASSERT_TRUE(matcher);
  std::string text;
  for (int i = 0; i < 29'000; ++i) text += "\xE3\x80\x80";
  EXPECT_TRUE(matcher->matches(text));
  EXPECT_FALSE(matcher->matches(text + "\xE3\x80\x80"));
  text.back() = '\x81';
  EXPECT_FALSE(matcher->matches(text));
}

TEST(Regex, AMatchThatTakesTooLongIsNone) {
  const auto matcher = RegexMatcher::make(*whole_text(*parse_regex("^(a?){1000}$")));
  const std::string text(500, 'a');
  int64_t steps = 100'000'000;
  EXPECT_TRUE(matcher->matches(text, &steps));
  EXPECT_LT(steps, 100'000'000 - 500 * 1000);
  steps = 100'000;
  EXPECT_FALSE(matcher->matches(text, &steps));
  EXPECT_LT(steps, 0);
}

TEST(Regex, CharactersAreCodePoints) {
  EXPECT_EQ(count_characters(""), 0u);
  EXPECT_EQ(count_characters("a\xC3\xA9\xF0\x9F\x92\xA9"), 3u);
}

}  // namespace
}  // namespace tempo9::grammar
