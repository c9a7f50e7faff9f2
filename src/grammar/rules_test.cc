#include "grammar/rules.h"

#include <gtest/gtest.h>

#include "grammar/schema_ebnf.h"
#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

class RulesTest : public testing::Test {
 protected:
  Grammar ebnf(std::string_view rules) {
    auto grammar = compiler_->ebnf(rules);
    EXPECT_TRUE(grammar) << grammar.error().message;
    return *grammar;
  }
  std::shared_ptr<const Rules> schema_rules(std::string_view text) {
    auto schema = std::make_shared<const Schema>(*Schema::parse(text));
    const auto rules = schema_to_ebnf(*schema, {});
    return grammar_rules(ebnf(fmt::format("root ::= value\n{}{}", *rules, common_rules())), schema);
  }
  std::unique_ptr<Constraint> start(const std::shared_ptr<const Rules>& rules) {
    auto constraint = rules->start();
    EXPECT_TRUE(constraint);
    return std::move(*constraint);
  }
  // The number of bytes that are taken, one token a byte.
  static size_t feed(Constraint& constraint, std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (!*constraint.accept(static_cast<unsigned char>(text[i]))) return i;
    }
    return text.size();
  }
  bool allowed(Constraint& constraint, TokenId id) {
    std::vector<uint32_t> mask(mask_words(n_tokens_));
    EXPECT_TRUE(*constraint.fill_mask(mask));
    return (mask[static_cast<size_t>(id) / 32] >> (id % 32) & 1) != 0;
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = tokenizer::make_byte_tokenizer();
  size_t n_tokens_ = static_cast<size_t>(tokenizer_->size());
  Result<Compiler> compiler_ = Compiler::make(vocab_of(*tokenizer_));
  TokenId end_ = tokenizer_->eos();
};

TEST_F(RulesTest, ASchemaIsHeldWhereTheGrammarLetsThrough) {
  const auto rules =
      schema_rules(R"({"type":"array","items":{"enum":[1,2,3]},"uniqueItems":true})");
  auto constraint = start(rules);
  ASSERT_EQ(feed(*constraint, "[1,2,"), 5u);
  EXPECT_TRUE(allowed(*constraint, '1'));  // letters cannot say it
  EXPECT_EQ(feed(*constraint, "1]"), 1u);  // but the bracket is turned down
  EXPECT_FALSE(constraint->can_end());
  EXPECT_FALSE(*constraint->accept(end_));
  auto other = start(rules);
  ASSERT_EQ(feed(*other, "[1,3]"), 5u);
  EXPECT_TRUE(other->can_end());
  EXPECT_TRUE(*other->accept(end_));
  EXPECT_TRUE(other->ended());
}

TEST_F(RulesTest, ANumberIsJudgedWhereItEnds) {
  auto constraint = start(schema_rules(R"({"type":"integer","multipleOf":5})"));
  ASSERT_EQ(feed(*constraint, "1"), 1u);
  EXPECT_FALSE(constraint->can_end());
  EXPECT_FALSE(*constraint->accept(end_));
  ASSERT_EQ(feed(*constraint, "5"), 1u);
  EXPECT_TRUE(*constraint->accept(end_));
}

TEST_F(RulesTest, KeysDoNotRepeat) {
  auto constraint =
      start(schema_rules(R"({"properties":{"a":{"type":"integer"}},"type":"object"})"));
  EXPECT_EQ(feed(*constraint, R"({"a":1,"a")"), 9u);
  EXPECT_EQ(feed(*constraint, R"(b":2})"), 5u);  // the key goes on
}

TEST_F(RulesTest, CapturedValuesKeepTheirSchemas) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::parse(R"({"not":{"required":["b"]}})"));
  const auto rules =
      grammar_rules(ebnf(fmt::format("root ::= \"<\" v \">\"\nv[capture=\"x\"] ::= json-object\n{}",
                                     common_rules())),
                    std::vector<NamedSchema>{{"x", schema}});
  auto constraint = start(rules);
  EXPECT_EQ(feed(*constraint, R"(<{"b":1}>)"), 7u);
  EXPECT_EQ(feed(*constraint, R"(,"b":2})"), 6u);
  EXPECT_EQ(feed(*start(rules), R"(<{"a":1}>)"), 9u);
}

TEST_F(RulesTest, EachCapturedValueIsJudged) {
  const auto schema =
      std::make_shared<const Schema>(*Schema::parse(R"({"not":{"required":["b"]}})"));
  const auto rules = grammar_rules(
      ebnf(fmt::format("root ::= (\"<\" v \">\")*\nv[capture=\"x\"] ::= json-object\n{}",
                       common_rules())),
      std::vector<NamedSchema>{{"x", schema}});
  auto constraint = start(rules);
  ASSERT_EQ(feed(*constraint, R"(<{"a":1}><{"a":1}>)"), 18u);
  EXPECT_EQ(feed(*constraint, R"(<{"b":1}>)"), 7u);
}

}  // namespace
}  // namespace tempo9::grammar
