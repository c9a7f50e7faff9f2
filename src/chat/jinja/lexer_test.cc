#include "chat/jinja/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo9::chat::jinja {
namespace {

// Kinds as letters, texts in brackets: D data, { } print, % / block, n name, s string, i integer, f
// float, o operator.
std::string shape(std::string_view source) {
  auto tokens = tokenize(source);
  if (!tokens) return "error: " + tokens.error().message;
  std::string out;
  for (const Token& t : *tokens) {
    constexpr std::string_view kLetters = "D%/{}nsifo.";
    out += kLetters[static_cast<size_t>(t.kind)];
    if (!t.text.empty()) out += "[" + t.text + "]";
  }
  return out;
}

TEST(Lexer, WhiteSpaceRules) {
  EXPECT_EQ(shape("a {{ b }} c\n"), "D[a ]{n[b]}D[ c].");
  EXPECT_EQ(shape("  {% if x %}\n  y"), "%n[if]n[x]/D[  y].");
  EXPECT_EQ(shape("a\n  {%- if x -%}  \n y"), "D[a]%n[if]n[x]/D[y].");
  EXPECT_EQ(shape("  {%+ if x +%}\ny"), "D[  ]%n[if]n[x]/D[\ny].");
  EXPECT_EQ(shape("a\r\nb\r\n"), "D[a\nb].");
  EXPECT_EQ(shape("a{# x #}\nb"), "D[a]D[b].");
  EXPECT_EQ(shape("{% raw %}{{ x }}{% endraw %}"), "D[{{ x }}].");
}

TEST(Lexer, Literals) {
  EXPECT_EQ(shape("{{ 0x1f 0b11 0o17 1_000 1.5e3 'a\\n' \"\\u00e9\" }}"),
            "{i[31]i[3]i[15]i[1000]f[1.5e3]s[a\n]s[\xC3\xA9]}.");
  EXPECT_EQ(shape("{{ a.1.2 }}"), "{n[a]o[.]i[1]o[.]i[2]}.");
  EXPECT_EQ(shape("{{ {'a': {}} }}"), "{o[{]s[a]o[:]o[{]o[}]o[}]}.");
}

TEST(Lexer, ErrorsNameTheLine) {
  EXPECT_THAT(shape("\n\n{{ a ? b }}"), testing::StartsWith("error: line 3"));
  EXPECT_THAT(shape("{{ ( ] }}"), testing::HasSubstr("expected ')'"));
  EXPECT_THAT(shape("{# x"), testing::HasSubstr("comment"));
  EXPECT_THAT(shape("{{ 99999999999999999999 }}"), testing::HasSubstr("64 bits"));
}

}  // namespace
}  // namespace tempo9::chat::jinja
