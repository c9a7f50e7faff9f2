#include "grammar/grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tempo9::grammar {
namespace {

constexpr TokenId kEnd = 256;      // control token that ends a reply
constexpr TokenId kControl = 257;  // control token that is never allowed
constexpr std::string_view kCity =
    R"(root ::= "{\"city\":" ws string "," ws "\"days\":" ws number "}"
ws ::= [ ]?
string ::= "\"" [^"\\\x00-\x1f]* "\""
number ::= "-"? ("0" | [1-9] [0-9]*)
)";

// Every byte, two control tokens, and some longer tokens; 265 in all, so that the last mask word is
// not full.
Vocab mixed_vocab() {
  Vocab vocab;
  for (int byte = 0; byte < 256; ++byte) vocab.tokens.emplace_back(1, static_cast<char>(byte));
  vocab.tokens.insert(vocab.tokens.end(),
                      {"", "\xFF<control>", "{\"", "\":", "city", "\",", "true", "12", "\"}"});
  vocab.end_tokens = {kEnd};
  return vocab;
}

class GrammarTest : public testing::Test {
 protected:
  Matcher start(const Result<Grammar>& grammar) {
    EXPECT_TRUE(grammar) << grammar.error().message;
    auto matcher = grammar->start();
    EXPECT_TRUE(matcher);
    return std::move(*matcher);
  }
  static bool feed(Matcher& matcher, std::string_view text) {
    for (const char c : text) {
      const auto ok = matcher.accept(static_cast<unsigned char>(c));
      if (!ok || !*ok) return false;
    }
    return true;
  }
  static std::vector<uint32_t> mask_of(Matcher& matcher) {
    std::vector<uint32_t> mask(mask_words(mixed_vocab().tokens.size()), 0xA5A5A5A5U);
    EXPECT_TRUE(matcher.fill_mask(mask));
    return mask;
  }
  static bool allowed(const std::vector<uint32_t>& mask, TokenId id) {
    return (mask[static_cast<size_t>(id) / 32] >> (id % 32) & 1U) != 0;
  }
  // The mask must say of each token what accept() says.
  static void expect_mask_is_accept(Matcher& matcher) {
    const auto mask = mask_of(matcher);
    const auto n_tokens = static_cast<TokenId>(mixed_vocab().tokens.size());
    for (TokenId id = 0; id < n_tokens; ++id) {
      const auto accepted = matcher.accept(id);
      ASSERT_TRUE(accepted);
      EXPECT_EQ(allowed(mask, id), *accepted) << "token " << id;
      if (*accepted) {
        ASSERT_TRUE(matcher.roll_back(1));
      }
    }
    for (TokenId id = n_tokens; id < static_cast<TokenId>(mask.size() * 32); ++id) {
      EXPECT_FALSE(allowed(mask, id)) << "bit past the vocabulary " << id;
    }
  }

  Result<Compiler> compiler_ = Compiler::make(mixed_vocab());
};

TEST_F(GrammarTest, LetsOnlyItsTextsThrough) {
  const auto grammar = compiler_->ebnf(kCity);
  for (const std::string_view good :
       {R"({"city": "Paris", "days": 3})", R"({"city":"","days":-12})",
        "{\"city\":\"Z\xC3\xBCrich\",\"days\":0}"}) {
    Matcher matcher = start(grammar);
    EXPECT_TRUE(feed(matcher, good)) << good;
    EXPECT_TRUE(matcher.can_end()) << good;
    EXPECT_FALSE(matcher.ended()) << good;
    EXPECT_TRUE(*matcher.accept(kEnd)) << good;
    EXPECT_TRUE(matcher.ended()) << good;
  }
  for (const std::string_view bad :
       {R"({"town")", R"({"city": 3)", R"({"city": "a", "days": 1.5)", R"([)", "null",
        "{\"city\": \"a\nb\"", R"({"city": "a"})", R"({"city": "a", "days": 1, )"}) {
    Matcher matcher = start(grammar);
    EXPECT_FALSE(feed(matcher, bad)) << bad;
  }
}

TEST_F(GrammarTest, EndIsAllowedOnlyWhereTheTextIsComplete) {
  Matcher matcher = start(compiler_->ebnf(kCity));
  ASSERT_TRUE(feed(matcher, R"({"city": "Paris", "days": 3)"));
  EXPECT_FALSE(matcher.can_end());
  EXPECT_FALSE(*matcher.accept(kEnd));
  ASSERT_TRUE(feed(matcher, "}"));
  EXPECT_TRUE(allowed(mask_of(matcher), kEnd));
}

TEST_F(GrammarTest, MaskSaysWhatAcceptSays) {
  const auto schema = compiler_->ebnf(kCity);
  for (const std::string_view prefix :
       {"", "{", "{\"ci", R"({"city":)", "{\"city\": \"\xC3", R"({"city": "a", "days": 1)",
        R"({"city": "a", "days": 1})"}) {
    SCOPED_TRACE(prefix);
    Matcher matcher = start(schema);
    ASSERT_TRUE(feed(matcher, prefix));
    expect_mask_is_accept(matcher);
  }
}

TEST_F(GrammarTest, ControlTokensAreNeverText) {
  Matcher matcher = start(compiler_->ebnf("root ::= [^x]*"));
  EXPECT_FALSE(allowed(mask_of(matcher), kControl));
  EXPECT_FALSE(*matcher.accept(kControl));
  EXPECT_TRUE(allowed(mask_of(matcher), 'a'));
  EXPECT_FALSE(allowed(mask_of(matcher), 'x'));
}

TEST_F(GrammarTest, RulesAndCountsAreFollowed) {
  Matcher choice = start(compiler_->ebnf(R"(root ::= "yes" | "no" " "* sign
sign ::= [!?])"));
  ASSERT_TRUE(feed(choice, "no  "));
  EXPECT_FALSE(choice.can_end());
  ASSERT_TRUE(feed(choice, "!"));
  EXPECT_TRUE(choice.can_end());

  Matcher date = start(compiler_->ebnf(R"(root ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]))"));
  ASSERT_TRUE(feed(date, "2024-1"));
  const auto mask = mask_of(date);
  for (char digit = '0'; digit <= '9'; ++digit)
    EXPECT_EQ(allowed(mask, digit), digit <= '2') << digit;
}

TEST_F(GrammarTest, LongTokensCrossRules) {
  Matcher matcher = start(compiler_->ebnf(kCity));
  for (const TokenId id : {258, 260, 259}) EXPECT_TRUE(*matcher.accept(id)) << id;  // {"  city  ":
  EXPECT_FALSE(*matcher.accept(262));                                               // true
  EXPECT_TRUE(feed(matcher, R"("a", "days":)"));
  EXPECT_TRUE(*matcher.accept(263));   // 12
  EXPECT_FALSE(*matcher.accept(264));  // "}
}

TEST_F(GrammarTest, RollBackGoesOverTheEndToo) {
  Matcher matcher = start(compiler_->ebnf(R"(root ::= "ab")"));
  ASSERT_TRUE(feed(matcher, "ab"));
  ASSERT_TRUE(*matcher.accept(kEnd));
  for (const uint32_t word : mask_of(matcher)) EXPECT_EQ(word, 0U);
  EXPECT_FALSE(*matcher.accept('a'));
  ASSERT_TRUE(matcher.roll_back(2));
  EXPECT_FALSE(matcher.ended());
  EXPECT_TRUE(*matcher.accept('b'));
}

TEST_F(GrammarTest, MatchersOfOneGrammarAreIndependent) {
  const auto grammar = compiler_->ebnf(R"(root ::= "ab")");
  Matcher first = start(grammar);
  Matcher second = start(grammar);
  ASSERT_TRUE(*first.accept('a'));
  EXPECT_TRUE(*second.accept('a'));
  EXPECT_TRUE(*first.accept('b'));
}

TEST_F(GrammarTest, OutOfRangeIdsAreNotAllowed) {
  Matcher matcher = start(compiler_->ebnf(R"(root ::= "a")"));
  EXPECT_FALSE(*matcher.accept(-1));
  EXPECT_FALSE(*matcher.accept(265));
  EXPECT_FALSE(*matcher.accept(1 << 30));
}

TEST_F(GrammarTest, BadSourcesAreErrorsThatSayWhy) {
  struct Case {
    Result<Grammar> got;
    std::string_view what;
  };
  const Case cases[] = {
      {compiler_->ebnf("root ::= missing"), "grammar: "},
      {compiler_->ebnf("top ::= \"a\""), "grammar: "},
      {compiler_->ebnf("root ::= ("), "grammar: "},
      {compiler_->lark("start: missing"), "grammar: "},
      {compiler_->ebnf(std::string(kMaxSourceBytes + 1, ' ')),
       "grammar: found 8388609 bytes, expected at most 8388608"},
  };
  for (const Case& c : cases) {
    ASSERT_FALSE(c.got) << c.what;
    EXPECT_EQ(c.got.error().code, ErrorCode::kInvalidArgument);
    const std::string& message = c.got.error().message;
    EXPECT_TRUE(message.starts_with(c.what)) << message;
    EXPECT_GT(message.size(), c.what.size() - (message == c.what ? 1 : 0)) << message;
    EXPECT_EQ(message.find(".cc:"), std::string::npos) << message;
    EXPECT_FALSE(message.ends_with('\n')) << message;
  }
}

TEST_F(GrammarTest, LarkIsRead) {
  Matcher matcher = start(compiler_->lark("start: \"a\" NUMBER\nNUMBER: /[0-9]+/\n"));
  ASSERT_TRUE(feed(matcher, "a12"));
  EXPECT_TRUE(matcher.can_end());
}

TEST_F(GrammarTest, ATextIsOneStep) {
  Matcher matcher = start(compiler_->ebnf(R"(root ::= "ab" [0-9]+)"));
  EXPECT_FALSE(*matcher.accept_text("ax"));
  EXPECT_TRUE(*matcher.accept_text("ab1"));
  EXPECT_TRUE(matcher.can_end());
  ASSERT_TRUE(matcher.roll_back(1));
  EXPECT_FALSE(*matcher.accept_text("b"));
  EXPECT_TRUE(*matcher.accept_text("a"));
}

TEST_F(GrammarTest, AControlTokenIsAllowedWhereARuleNamesIt) {
  Matcher matcher = start(compiler_->ebnf(R"(root ::= "a" Token(257) "b")"));
  EXPECT_FALSE(*matcher.accept(kControl));
  ASSERT_TRUE(*matcher.accept('a'));
  EXPECT_TRUE(allowed(mask_of(matcher), kControl));
  ASSERT_TRUE(*matcher.accept(kControl));
  EXPECT_TRUE(*matcher.accept('b'));
}

TEST_F(GrammarTest, CapturesSayWhatARuleWrote) {
  Matcher matcher =
      start(compiler_->ebnf("root ::= \"<\" inner \">\"\ninner[capture] ::= [a-z]+\n"));
  ASSERT_TRUE(feed(matcher, "<abc>"));
  using Captures = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(matcher.captures(), (Captures{{"inner", "abc"}}));
}

TEST_F(GrammarTest, BadVocabulariesAreErrors) {
  const auto expect_refused = [](Vocab vocab) {
    const auto compiler = Compiler::make(std::move(vocab));
    ASSERT_FALSE(compiler);
    EXPECT_EQ(compiler.error().code, ErrorCode::kInvalidArgument);
  };
  expect_refused({});
  expect_refused({.tokens = {"a"}, .end_tokens = {}});
  expect_refused({.tokens = {"a", ""}, .end_tokens = {0}});
  expect_refused({.tokens = {"a", ""}, .end_tokens = {2}});
  expect_refused({.tokens = {"a", ""}, .end_tokens = {-1}});
}

}  // namespace
}  // namespace tempo9::grammar
