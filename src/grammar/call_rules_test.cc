#include <gtest/gtest.h>

#include "grammar/rules.h"
#include "grammar/schema_ebnf.h"
#include "grammar/testing/byte_vocab.h"

namespace tempo9::grammar {
namespace {

TEST(CallOpening, IsFoundWhereACallMayStand) {
  for (const std::string_view text :
       {R"({"name": "f", "arguments":)", "```json\n{\"name\":\"f\",\"arguments\" :",
        "Prose.\n  { \"name\" : \"f\" ,\n \"parameters\":",
        "<tool_call>\n{\"name\": \"f\", \"arguments\":", R"(<tool_call>{"name": "f", "arguments":)",
        R"([{"name": "f", "arguments":)", R"(}, {"name": "f", "arguments":)",
        R"({"type": "function", "function": {"name": "f", "arguments":)"}) {
    EXPECT_EQ(call_opening(text), "f") << text;
  }
  for (const std::string_view text :
       {"", ":", R"({"name": "f", "arguments")", R"(Use {"name": "f", "arguments":)",
        R"({"name": "f", "other":)", R"({"names": "f", "arguments":)",
        R"("name": "f", "arguments":)", R"({"name": "a\"f", "arguments":)"}) {
    EXPECT_EQ(call_opening(text), "") << text;
  }
}

class CallRulesTest : public testing::Test {
 protected:
  std::shared_ptr<const Rules> rules(bool strict) {
    auto schema = std::make_shared<const Schema>(*Schema::parse(
        R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},
            "required":["city"],"not":{"required":["days"]},"additionalProperties":false})"));
    auto grammar = compiler_->ebnf(fmt::format(
        "root ::= json-ws arguments rest\nrest ::= [^]*\narguments[capture] ::= value\n{}{}",
        *schema_to_ebnf(*schema, {}), common_rules()));
    EXPECT_TRUE(grammar) << grammar.error().message;
    return call_rules({{.name = "f", .grammar = *grammar, .schema = strict ? schema : nullptr}}, {},
                      tokenizer_.get());
  }
  static std::string taken(const std::shared_ptr<const Rules>& rules, std::string_view text) {
    auto constraint = std::move(*rules->start());
    std::string out;
    for (const char c : text) {
      if (*constraint->accept(static_cast<unsigned char>(c))) out += c;
    }
    return out;
  }
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = tokenizer::make_byte_tokenizer();
  Result<Compiler> compiler_ = Compiler::make(vocab_of(*tokenizer_));
};

TEST_F(CallRulesTest, ArgumentsAreHeldAndTheRestIsFree) {
  constexpr std::string_view kGood =
      "I call {it}: \"x\"\n{\"name\": \"f\", \"arguments\": {\"city\": \"Rome\"}}\nDone: "
      "{\"days\": 1}";
  EXPECT_EQ(taken(rules(false), kGood), kGood);
  // A key that is not declared does not come through, byte for byte.
  EXPECT_EQ(taken(rules(false), R"({"name": "f", "arguments": {"town)"),
            R"({"name": "f", "arguments": {")");
  // Other functions are none of ours.
  constexpr std::string_view kOther = R"({"name": "g", "arguments": {"town": 1}})";
  EXPECT_EQ(taken(rules(false), kOther), kOther);
}

TEST_F(CallRulesTest, EachCallOfAReplyIsHeld) {
  EXPECT_EQ(
      taken(rules(false),
            "{\"name\": \"f\", \"arguments\": {\"city\": \"a\"}}\n"
            "{\"name\": \"f\", \"arguments\": [1"),
      "{\"name\": \"f\", \"arguments\": {\"city\": \"a\"}}\n{\"name\": \"f\", \"arguments\": ");
}

TEST_F(CallRulesTest, AStrictToolsSchemaIsHeldWhole) {
  constexpr std::string_view kBoth = R"({"name": "f", "arguments": {"city": "a","days":1}})";
  EXPECT_EQ(taken(rules(false), kBoth), kBoth);
  EXPECT_NE(taken(rules(true), kBoth), kBoth);
}

TEST_F(CallRulesTest, NoReplyEndsInsideArguments) {
  auto constraint = std::move(*rules(false)->start());
  EXPECT_TRUE(constraint->can_end());
  ASSERT_TRUE(*constraint->accept_text(R"({"name": "f", "arguments": {"ci)"));
  EXPECT_FALSE(constraint->can_end());
  EXPECT_FALSE(*constraint->accept(tokenizer_->eos()));
  std::vector<uint32_t> mask(mask_words(static_cast<size_t>(tokenizer_->size())));
  EXPECT_TRUE(*constraint->fill_mask(mask));
  ASSERT_TRUE(*constraint->accept_text(R"(ty":"x"}})"));
  EXPECT_FALSE(*constraint->fill_mask(mask));
  EXPECT_TRUE(*constraint->accept(tokenizer_->eos()));
}

TEST_F(CallRulesTest, AReplyThatWasBegunForTheModelIsHeldFromThere) {
  const auto list = begun_with(rules(false), "[\n  {\"name\": \"");
  EXPECT_EQ(taken(list, R"(f", "arguments": {"town)"), R"(f", "arguments": {")");
  EXPECT_EQ(taken(rules(false), R"(f", "arguments": {"town)"), R"(f", "arguments": {"town)");
  EXPECT_FALSE(begun_with(rules(false), R"({"name": "f", "arguments": {"town)")->start());
}

}  // namespace
}  // namespace tempo9::grammar
